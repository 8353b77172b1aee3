import { useMemo } from 'preact/hooks'
import { Field } from '../../../parts/field.tsx'
import { whole } from '../../../parts/figures.ts'
import { Select } from '../../../parts/select.tsx'
import { textOf } from '../../formats/read.ts'
import { Area } from '../../settings/area.tsx'
import { answerOf, inputsOf } from '../answer.ts'
import type { FieldsProps, ResultProps } from '../operation.ts'
import { operationTab } from '../operation-tab.tsx'
import { Bar } from '../parts/bar.tsx'
import { TextList } from '../parts/text-list.tsx'
import { apiOf, type RerankDraft, rankedOf, rerankApis, rerankCalls } from './request.ts'

type Props = FieldsProps<RerankDraft>

function Inputs({ draft, onDraft }: Props) {
  const { documents } = draft
  const hasLines = documents.some((text) => text.includes('\n'))
  return (
    <>
      <Area
        id="query"
        label="Query"
        prose
        rows={1}
        placeholder="What the documents are ranked by"
        value={draft.query}
        onInput={(query) => onDraft({ query })}
      />
      {draft.separate ? (
        <TextList
          id="document"
          name="Document"
          least={1}
          texts={documents.length === 0 ? [''] : documents}
          onTexts={(documents) => onDraft({ documents })}
        />
      ) : (
        <Area
          id="documents"
          label="Documents"
          prose
          rows={5}
          placeholder="One document per line"
          value={documents.join('\n')}
          onInput={(text) => onDraft({ documents: text === '' ? [] : text.split('\n') })}
        />
      )}
      <label class="tick">
        <input
          type="checkbox"
          checked={draft.separate}
          // One line each would split them.
          disabled={draft.separate && hasLines}
          onChange={(event) =>
            onDraft({
              separate: event.currentTarget.checked,
              documents: documents.filter((text) => text.trim() !== ''),
            })
          }
        />
        One input per document, for documents with several lines
      </label>
    </>
  )
}

const Settings = ({ draft, wrongs, onDraft }: Props) => (
  <>
    <Select
      id="rerank-format"
      label="Client format"
      value={apiOf(draft).id}
      options={rerankApis.map(({ id, name }) => ({ value: id, title: name }))}
      onChange={(format) => onDraft({ format })}
    />
    <Field
      id="top-n"
      label="Top N"
      value={draft.topN}
      placeholder="All"
      hint="Number of documents to return."
      {...(wrongs.topN === undefined ? {} : { wrong: wrongs.topN })}
      onInput={(topN) => onDraft({ topN })}
    />
  </>
)

function Result({ run: { exchange } }: ResultProps) {
  const { query, documents } = exchange.request.body
  const body = useMemo(() => answerOf(exchange), [exchange.events])
  const ranked = useMemo(() => rankedOf(body ?? {}, documents), [body, documents])
  // Scores of some models are not from 0 to 1: the best one fills its bar.
  const best = Math.max(1, ...ranked.map(({ score }) => score))
  const count = inputsOf(documents).length
  return (
    <>
      <p class="asked">
        {textOf(query)} <small>{count === 1 ? '1 document' : `${whole.format(count)} documents`}</small>
      </p>
      {ranked.length === 0 ? null : (
        <table class="scores">
          <caption class="out-of-sight">Documents by relevance</caption>
          <thead class="out-of-sight">
            <tr>
              <th scope="col">Rank</th>
              <th scope="col">Score</th>
              <td />
              <th scope="col">Document</th>
            </tr>
          </thead>
          <tbody>
            {ranked.map(({ index, score, text }, at) => (
              <tr key={index}>
                <th scope="row">{at + 1}</th>
                <td class="number">{score.toFixed(4)}</td>
                <td>
                  <Bar share={score / best} />
                </td>
                <td class="ranked">
                  {text} <small>document {index + 1}</small>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

export const RerankTab = operationTab<RerankDraft>({
  ...rerankCalls,
  id: 'rerank',
  title: 'Rerank',
  about:
    'A reranker sorts documents by how well they fit a query. Search results are often reranked before a model reads them.',
  needs: ['rerank'],
  what: 'rerank',
  action: 'Rerank',
  example: {
    query: 'When does the ferry leave?',
    documents: [
      'Pumpkin soup needs ginger and an hour.',
      'The ferry leaves the harbour at eight.',
      'The harbour has a new lighthouse.',
      'Tickets for the ferry are sold on board.',
    ],
    separate: false,
  },
  Inputs,
  Settings,
  Result,
})
