import type { Loss } from '@modelgate/core'
import { isObject, parseJson } from '../base/json.ts'

/** A text of a body with its JSON Pointer. */
interface Leaf {
  readonly path: string
  readonly text: string
}

const step = (name: string | number): string => `/${String(name).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Returns every text of a body; JSON within a text counts as its texts. */
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

/** Returns base64 data in the standard alphabet, without wrapping. */
function bare(text: string): string {
  const data = text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
  return data.length < 50 || /\s/.test(data) ? data : data.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '')
}

/** A plain text file is base64 data in one format and text in another. */
const asText = (data: string): string => Buffer.from(data, 'base64').toString('utf8')
const asData = (text: string): string => bare(Buffer.from(text).toString('base64'))

/** Enum values and structural fields of a format, which others express in their own terms. */
const words: readonly RegExp[] = [
  /\/(type|model|role|status|phase)$/,
  // File types, which some formats derive from the file extension or a short type.
  /\/(mimeType|mime_type|media_type)$/,
  // Structured output is requested by a schema in other formats.
  /\/generationConfig\/(responseMimeType|response_mime_type)$/,
  // Call ids link results to calls, and each format has its own alphabet for them. Item ids link nothing.
  /\/(id|call_id|tool_call_id|tool_use_id)$/,
  // `summarized` and `standard_only` are `auto` and `default` in other formats.
  /^\/thinking\/display$/,
  /^\/service_tier$/,
  // `required`, `any` and `ANY` are equivalent; `auto`, text output and no reasoning are defaults.
  /^\/(tool_choice|function_call|tool_choice\/mode|toolConfig\/functionCallingConfig\/mode)$/,
  /^\/(reasoning\/summary|reasoning\/effort|reasoning_effort)$/,
  // Marks of the prompt cache are `ephemeral` in other formats; `explicit` there means that only marks are cached.
  /\/(prompt_cache_breakpoint|prompt_cache_options)\/mode$/,
  // Requested additions to the response: seals are always returned.
  /^\/include\/\d+$/,
]

/**
 * Returns the texts of the client's body that are neither in the upstream's body nor reported. Short texts are enum
 * values of the format.
 */
export function unaccounted(body: unknown, sent: unknown, losses: readonly Loss[], shortest: number): Leaf[] {
  const joined = leavesOf(sent)
    .map(({ text }) => bare(text))
    .join('\n')
  const inAnyCase = joined.toLowerCase()
  const lost = losses.filter(({ side }) => side === undefined).map(({ path }) => path)
  // Tools that may not be called are dropped if the tool choice cannot express it.
  if (losses.some(({ detail }) => detail === 'only the allowed tools are offered')) lost.push('/tools')
  const isReported = ({ path }: Leaf): boolean => {
    // The seal of a call is a sibling field.
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
  // Some clients send the same value under two names, of which one is read.
  const reported = new Set(leaves.filter(isReported).map(({ text }) => text))
  return missing.filter((leaf) => !isReported(leaf) && !reported.has(leaf.text))
}
