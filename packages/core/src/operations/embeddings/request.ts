import type { Json } from '../../base/json/json.ts'
import type { Report } from '../../formats/ir.ts'
import { loss } from '../../formats/shared/report.ts'
import type { TargetContext } from '../operation.ts'

/** Purpose of the vectors, for which providers tune them. */
export type Task =
  | 'query'
  | 'document'
  | 'similarity'
  | 'classification'
  | 'clustering'
  | 'question-answering'
  | 'fact-verification'
  | 'code-query'
  | 'code-document'

export type EmbeddingPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly mediaType: string; readonly data: string }
  /** Content that only the client's own dialect defines. */
  | { readonly type: 'native'; readonly value: Json }

/** One input; `at` is its position in the client's body. */
export type EmbeddingInput = { readonly at: string } & (
  | { readonly text: string }
  | { readonly tokens: readonly number[] }
  | { readonly parts: readonly EmbeddingPart[] }
)

export type SettingName = 'task' | 'title' | 'dimensions' | 'truncate' | 'user'

export interface EmbeddingsRequest {
  readonly model: string
  readonly inputs: readonly EmbeddingInput[]
  /** Encoding of the vectors for the client: numbers, or base64 of little-endian float32. */
  readonly encoding: 'float' | 'base64'
  readonly task?: Task
  /** Title of a document. */
  readonly title?: string
  readonly dimensions?: number
  /** Treatment of an input that is too long. `none`: it is rejected. Absent: the upstream's default. */
  readonly truncate?: 'none' | 'start' | 'end'
  readonly user?: string
  /** The client's response groups the vectors by their number type. Default: it is a plain list. */
  readonly byType?: boolean
  /** Positions of the settings in the client's body. */
  readonly at: { readonly [S in SettingName]?: string }
}

/** An upstream's names of tasks: an exact name, or `[name of the nearest task]`. */
export type TaskWords = { readonly [T in Task]?: string | readonly [nearest: string] }

/** Returns the upstream's name of the request's task. A task without an exact name is reported. */
export function encodeTask({ task, at }: EmbeddingsRequest, words: TaskWords, { report }: TargetContext) {
  if (task === undefined) return undefined
  const word = words[task]
  if (typeof word === 'string') return word
  const [nearest] = word ?? []
  report.add(
    nearest === undefined
      ? loss(at.task ?? '', `the upstream does not support the task ${task}`)
      : loss(
          at.task ?? '',
          `the task ${task} is sent as '${nearest}', the nearest that the upstream supports`,
          'approximated',
        ),
  )
  return nearest
}

/** Reports settings that the upstream has no field for. `title` and `user` change little or nothing. */
export function reportUnsupportedSettings(
  request: EmbeddingsRequest,
  names: readonly SettingName[],
  { report }: TargetContext,
): void {
  for (const name of names)
    if (request[name] !== undefined && request.at[name] !== undefined)
      report.add(
        loss(
          request.at[name],
          `${name} has no counterpart in the API format of the upstream`,
          'unsupported',
          name === 'user' ? 'note' : 'warn',
        ),
      )
}

/** Returns whether long inputs are truncated, for upstreams that truncate at the end or not at all. */
export function truncatesAtEnd({ truncate, at }: EmbeddingsRequest, { report }: TargetContext): boolean | undefined {
  if (truncate === undefined) return undefined
  if (truncate === 'start')
    report.add(loss(at.truncate ?? '', 'the upstream truncates texts at the end, not at the start', 'approximated'))
  return truncate !== 'none'
}

/** Returns the inputs as texts, for upstreams that accept only texts. Other inputs are a fatal loss. */
export function inputsAsTexts(inputs: readonly EmbeddingInput[], { report }: TargetContext): string[] {
  return inputs.map((input) => {
    if ('text' in input) return input.text
    if ('tokens' in input) {
      // Tokens of one provider mean nothing to another, and the whole list consists of them.
      report.add(loss(fieldOf(input.at), 'the upstream accepts text, not tokens', 'unsupported', 'fatal'))
      return ''
    }
    if (!input.parts.every(isText)) report.add(loss(input.at, 'the upstream embeds only text', 'unsupported', 'fatal'))
    return joinTexts(input.parts, input.at, report)
  })
}

/** Returns the inputs as parts, for upstreams that accept images too. */
export function inputsAsParts(
  inputs: readonly EmbeddingInput[],
  { report }: TargetContext,
): (readonly EmbeddingPart[])[] {
  return inputs.map((input) => {
    if ('text' in input) return [{ type: 'text', text: input.text }]
    if ('tokens' in input) {
      report.add(loss(fieldOf(input.at), 'the upstream accepts text, not tokens', 'unsupported', 'fatal'))
      return []
    }
    if (input.parts.some(({ type }) => type === 'native'))
      report.add(loss(input.at, 'the upstream embeds only texts and images', 'unsupported', 'fatal'))
    return input.parts
  })
}

/** Joins the texts of the input at `at`. */
export function joinTexts(parts: readonly EmbeddingPart[], at: string, report: Report): string {
  const texts = parts.flatMap((part) => (isText(part) ? [part.text] : []))
  if (texts.length > 1)
    report.add(
      loss(at, 'the texts of one content are joined with line breaks and embedded as one', 'approximated', 'note'),
    )
  return texts.join('\n')
}

const isText = (part: EmbeddingPart): part is Extract<EmbeddingPart, { type: 'text' }> => part.type === 'text'

/** Returns the field of a list element: `/input/3` is part of `/input`. */
const fieldOf = (at: string): string => at.split('/', 2).join('/')
