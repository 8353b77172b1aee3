import type { Report } from '../../formats/ir.ts'
import { loss } from '../../formats/shared/report.ts'
import type { TargetContext } from '../operation.ts'
import type { EmbeddingInput, EmbeddingPart } from './request.ts'

/** The inputs as texts, for upstreams that take nothing else. What is no text refuses the call. */
export function textsOf(inputs: readonly EmbeddingInput[], { report }: TargetContext): string[] {
  return inputs.map((input) => {
    if ('text' in input) return input.text
    if ('tokens' in input) {
      // Tokens of one provider mean nothing to another, and the whole list is in them.
      report.add(loss(fieldOf(input.at), 'the upstream takes text, no tokens', 'unsupported', 'fatal'))
      return ''
    }
    if (!input.parts.every(isText)) report.add(loss(input.at, 'the upstream embeds text only', 'unsupported', 'fatal'))
    return joined(input.parts, input.at, report)
  })
}

/** The inputs as parts, for upstreams that take images too. */
export function partsOf(inputs: readonly EmbeddingInput[], { report }: TargetContext): (readonly EmbeddingPart[])[] {
  return inputs.map((input) => {
    if ('text' in input) return [{ type: 'text', text: input.text }]
    if ('tokens' in input) {
      report.add(loss(fieldOf(input.at), 'the upstream takes text, no tokens', 'unsupported', 'fatal'))
      return []
    }
    if (input.parts.some(({ type }) => type === 'native'))
      report.add(loss(input.at, 'the upstream embeds texts and images only', 'unsupported', 'fatal'))
    return input.parts
  })
}

/** The texts of an input that stands at `at`, as one. */
export function joined(parts: readonly EmbeddingPart[], at: string, report: Report): string {
  const texts = parts.flatMap((part) => (isText(part) ? [part.text] : []))
  if (texts.length > 1)
    report.add(loss(at, 'the texts of one content are embedded as one, a line each', 'approximated', 'note'))
  return texts.join('\n')
}

const isText = (part: EmbeddingPart): part is Extract<EmbeddingPart, { type: 'text' }> => part.type === 'text'

/** `/input/3` is part of `/input`. */
const fieldOf = (at: string): string => at.split('/', 2).join('/')
