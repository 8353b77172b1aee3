/** What a part says of itself in its Content-Disposition. */
export interface Disposition {
  readonly name: string
  readonly filename?: string
}

const known: ReadonlySet<string> = new Set(['', 'name', 'filename', 'filename*'])

/**
 * Reads `form-data; name="…"; filename="…"` as clients write it: UTF-8 as it is, quotes as `%22` (browsers) or `\"` (others),
 * `filename*` where there is one. Undefined for anything that is no form's part, and for what others could read otherwise:
 * the header goes on as it came, and a field must not become the model's name on the way.
 */
export function readDisposition(header: string): Disposition | undefined {
  const [type = ''] = header.split(';', 1)
  if (type.trim().toLowerCase() !== 'form-data') return undefined
  const found = new Map<string, string>()
  let at = type.length
  while (at < header.length) {
    const parameter = readParameter(header, at + 1)
    if (parameter === undefined) return undefined
    // Of two names, readers would pick different ones.
    if (found.has(parameter.key) || !known.has(parameter.key)) return undefined
    found.set(parameter.key, parameter.value)
    at = parameter.end
  }
  const name = found.get('name')
  // Some readers drop a backslash.
  if (name === undefined || name === '' || name.includes('\\')) return undefined
  const filename = extended(found.get('filename*')) ?? found.get('filename')
  return { name: percentQuotes(name), ...(filename === undefined ? {} : { filename: percentQuotes(filename) }) }
}

interface Parameter {
  readonly key: string
  readonly value: string
  /** Where the next semicolon stands. */
  readonly end: number
}

function readParameter(text: string, from: number): Parameter | undefined {
  const equals = text.indexOf('=', from)
  if (equals < 0) return text.slice(from).trim() === '' ? { key: '', value: '', end: text.length } : undefined
  const key = text.slice(from, equals).trim().toLowerCase()
  let at = equals + 1
  while (text[at] === ' ' || text[at] === '\t') at++
  if (text[at] !== '"') {
    const end = text.indexOf(';', at)
    const stop = end < 0 ? text.length : end
    const value = text.slice(at, stop).trim()
    return /["\s]/.test(value) ? undefined : { key, value, end: stop }
  }
  let value = ''
  for (at++; at < text.length && text[at] !== '"'; at++) {
    // A backslash escapes a quote and itself; before anything else it stands for itself (`C:\\file`, from old browsers).
    if (text[at] === '\\' && (text[at + 1] === '"' || text[at + 1] === '\\')) at++
    value += text[at]
  }
  if (at >= text.length) return undefined
  const end = text.indexOf(';', at)
  const stop = end < 0 ? text.length : end
  return text.slice(at + 1, stop).trim() === '' ? { key, value, end: stop } : undefined
}

/** RFC 8187: `UTF-8''na%C3%AFve.wav`. */
function extended(value: string | undefined): string | undefined {
  const parts = value?.split("'")
  if (parts?.length !== 3 || parts[0]?.toLowerCase() !== 'utf-8') return undefined
  try {
    return decodeURIComponent(parts[2] ?? '')
  } catch {
    return undefined
  }
}

const percentQuotes = (text: string): string =>
  text.includes('%') ? text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n') : text
