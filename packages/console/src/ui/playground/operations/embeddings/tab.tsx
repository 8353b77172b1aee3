import { useMemo } from 'preact/hooks'
import { CopyButton } from '../../../parts/copy-button.tsx'
import { Field } from '../../../parts/field.tsx'
import { whole } from '../../../parts/figures.ts'
import { answerOf, inputsOf } from '../answer.ts'
import type { FieldsProps, ResultProps } from '../operation.ts'
import { operationTab } from '../operation-tab.tsx'
import { Bar } from '../parts/bar.tsx'
import { TextList } from '../parts/text-list.tsx'
import { type EmbeddingsDraft, embeddingsCalls, vectorsOf } from './request.ts'
import { type Pair, pairsOf } from './similarity.ts'

type Props = FieldsProps<EmbeddingsDraft>

const Inputs = ({ draft, onDraft }: Props) => (
  <TextList id="text" name="Text" least={1} texts={draft.texts} onTexts={(texts) => onDraft({ texts })} />
)

const Settings = ({ draft, wrongs, onDraft }: Props) => (
  <Field
    id="dimensions"
    label="Dimensions"
    value={draft.dimensions}
    placeholder="Not set"
    hint="Size of the vectors. Not every model can change it."
    {...(wrongs.dimensions === undefined ? {} : { wrong: wrongs.dimensions })}
    onInput={(dimensions) => onDraft({ dimensions })}
  />
)

/** Pairs shown at once. */
const most = 50

function Result({ run: { exchange } }: ResultProps) {
  const body = useMemo(() => answerOf(exchange), [exchange.events])
  const vectors = useMemo(() => vectorsOf(body ?? {}), [body])
  const pairs = useMemo(() => pairsOf(vectors), [vectors])
  const texts = inputsOf(exchange.request.body.input)
  if (body === undefined || exchange.outcome !== 'finished') return <Texts texts={texts} />
  return (
    <>
      <Texts texts={texts} vectors={vectors} />
      {pairs.length === 0 ? null : (
        <table class="scores">
          <caption>Similarity (cosine)</caption>
          <tbody>
            {pairs.slice(0, most).map((pair) => (
              <PairRow key={`${pair.first} ${pair.second}`} pair={pair} />
            ))}
          </tbody>
        </table>
      )}
      {pairs.length > most ? <p class="hint">{whole.format(pairs.length - most)} less similar pairs.</p> : null}
    </>
  )
}

function PairRow({ pair: { first, second, similarity } }: { pair: Pair }) {
  const name = `Text ${first + 1} and text ${second + 1}`
  return (
    <tr>
      <th scope="row">
        <span class="out-of-sight">{name}</span>
        <span aria-hidden="true">
          {first + 1} ↔ {second + 1}
        </span>
      </th>
      {similarity === undefined ? (
        <td colSpan={2}>The vectors have different sizes.</td>
      ) : (
        <>
          <td class="number">{similarity.toFixed(4).replace('-', '−')}</td>
          <td>
            <Bar share={similarity} />
          </td>
        </>
      )}
    </tr>
  )
}

function Texts({ texts, vectors = [] }: { texts: readonly string[]; vectors?: readonly ArrayLike<number>[] }) {
  return (
    <ol class="vectors">
      {texts.map((text, at) => {
        const vector = vectors[at]
        return (
          <li key={at}>
            <p>{text}</p>
            {vector === undefined ? null : (
              <p class="vector">
                <span>{whole.format(vector.length)} dimensions</span>
                <code>
                  [
                  {Array.from(vector)
                    .slice(0, 4)
                    .map((value) => value.toFixed(4))
                    .join(', ')}
                  {vector.length > 4 ? ', …' : ''}]
                </code>
                <CopyButton
                  small
                  icon
                  look="quiet"
                  text={JSON.stringify(Array.from(vector))}
                  what={`vector ${at + 1}`}
                />
              </p>
            )}
          </li>
        )
      })}
    </ol>
  )
}

export const EmbeddingsTab = operationTab<EmbeddingsDraft>({
  ...embeddingsCalls,
  id: 'embeddings',
  title: 'Embeddings',
  about:
    'An embedding is a vector that represents the meaning of a text. Enter two or more texts to see how similar a model finds them.',
  needs: ['embeddings'],
  what: 'embeddings',
  action: 'Compare',
  example: {
    texts: [
      'The ferry leaves the harbour at eight.',
      'At eight o’clock the ferry departs from the port.',
      'A soup of pumpkin and ginger.',
    ],
  },
  Inputs,
  Settings,
  Result,
})
