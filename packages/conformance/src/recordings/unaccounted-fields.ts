import type { Loss } from '@modelgate/core'
import { isObject, parseJson } from '../base/json.ts'

/** A text of a body, and the JSON Pointer to where it stands. */
interface Leaf {
  readonly path: string
  readonly text: string
}

const step = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Every text of a body; what is JSON within a text counts as the texts within it. */
function leavesOf(value: unknown, path = ''): Leaf[] {
  if (typeof value === 'string') {
    const inner = /^\s*[{[]/.test(value) ? parseJson(value) : undefined
    return inner === undefined ? [{ path, text: value }] : insideOf(inner, () => path)
  }
  return insideOf(value, (name) => path + step(name))
}

function insideOf(value: unknown, pathOf: (name: string | number) => string): Leaf[] {
  if (Array.isArray(value)) return value.flatMap((item, at) => leavesOf(item, pathOf(at)))
  if (isObject(value)) return Object.entries(value).flatMap(([name, item]) => leavesOf(item, pathOf(name)))
  return typeof value === 'string' ? [{ path: pathOf(''), text: value }] : []
}

/** Data by itself, in the usual alphabet, however it is wrapped. */
function bare(text: string): string {
  const data = text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
  return data.length < 50 || /\s/.test(data) ? data : data.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
}

/** A file of plain text is data in one format and text in another. */
const asText = (data: string): string => Buffer.from(data, 'base64').toString('utf8')
const asData = (text: string): string => bare(Buffer.from(text).toString('base64'))

/** Words of a format and its bookkeeping: others say the same in words of their own. */
const words: readonly RegExp[] = [
  /\/(type|model|role|status|phase)$/,
  // File types, which some formats derive from the name's extension or a short type.
  /\/(mimeType|mime_type|media_type)$/,
  // Structured output is asked for by a schema elsewhere.
  /\/generationConfig\/(responseMimeType|response_mime_type)$/,
  // Ids tie results to their calls. Each format has its own alphabet for them; those of items tie nothing.
  /\/(id|call_id|tool_call_id|tool_use_id)$/,
  // `summarized` and `standard_only` are `auto` and `default` elsewhere.
  /^\/thinking\/display$/,
  /^\/service_tier$/,
  // `required`, `any` and `ANY` are one; `auto`, text as an answer and no reasoning are what is done unasked.
  /^\/(tool_choice|function_call|tool_choice\/mode|toolConfig\/functionCallingConfig\/mode)$/,
  /^\/(reasoning\/summary|reasoning\/effort|reasoning_effort)$/,
  // Additions to the answer: seals come by default.
  /^\/include\/\d+$/,
]

/** The texts of the client's body that neither stand in the upstream's nor are in the report. Short ones are words of the format. */
export function unaccounted(body: unknown, sent: unknown, losses: readonly Loss[], shortest: number): Leaf[] {
  const joined = leavesOf(sent)
    .map(({ text }) => bare(text))
    .join('\n')
  const inAnyCase = joined.toLowerCase()
  const lost = losses.filter(({ side }) => side === undefined).map(({ path }) => path)
  // Tools that may not be called are left out where the choice cannot say so.
  if (losses.some(({ detail }) => detail === 'only the allowed tools are offered')) lost.push('/tools')
  const isReported = ({ path }: Leaf): boolean => {
    // The seal of a call stands beside it.
    const place = path.replace(/\/(thoughtSignature|thought_signature)$/, '')
    return lost.some((one) => place === one || path.startsWith(`${one}/`) || one.startsWith(`${place}/`))
  }
  const leaves = leavesOf(body)
  const missing = leaves.filter(({ path, text }) => {
    const wanted = bare(text)
    if (wanted.length < shortest || words.some((word) => word.test(path))) return false
    if (inAnyCase.includes(wanted.toLowerCase()) || text === 'TEXT') return false
    return !joined.includes(asText(wanted)) && !joined.includes(asData(wanted))
  })
  // Some clients write the same under two names, of which one is read.
  const reported = new Set(leaves.filter(isReported).map(({ text }) => text))
  return missing.filter((leaf) => !isReported(leaf) && !reported.has(leaf.text))
}
