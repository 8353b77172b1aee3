import type { Json, JsonObject } from './json.ts'

/** One message of a recorded WebSocket. */
export interface RecordedMessage {
  readonly direction: 'sent' | 'received'
  readonly data: Json
}

interface Line {
  readonly indent: number
  readonly text: string
}

/**
 * Reads the messages of a recorded WebSocket. Supports the YAML of such recordings: block lists and maps, and plain or
 * quoted scalars over several lines. Throws for other YAML and for recordings of anything else.
 */
export function readCassette(yaml: string): RecordedMessage[] {
  const lines = yaml.split('\n').map((line): Line => {
    const text = line.trimStart()
    return { indent: line.length - text.length, text }
  })
  const root = new Reader(lines).value(0) as JsonObject
  return (root.interactions as JsonObject[])
    .filter(({ kind }) => kind !== 'close')
    .map(({ kind, direction, data }) => {
      if (kind !== 'message' || (direction !== 'sent' && direction !== 'received') || typeof data !== 'object')
        throw new TypeError('The recording is not a WebSocket message')
      return { direction, data }
    })
}

class Reader {
  #at = 0
  readonly #lines: readonly Line[]

  constructor(lines: readonly Line[]) {
    this.#lines = lines
  }

  get #line(): Line | undefined {
    return this.#lines[this.#at]
  }

  value(indent: number): Json {
    return this.#line?.text.startsWith('- ') ? this.#list(indent) : this.#map(indent)
  }

  #list(indent: number): Json[] {
    const items: Json[] = []
    for (let line = this.#line; line?.indent === indent && line.text.startsWith('- '); line = this.#line) {
      const rest = line.text.slice(2)
      if (isKey(rest)) {
        // A map that begins on the line of its dash is parsed as if it were indented by two columns.
        ;(this.#lines as Line[])[this.#at] = { indent: indent + 2, text: rest }
        items.push(this.#map(indent + 2))
      } else items.push(this.#scalar(rest, indent))
    }
    return items
  }

  #map(indent: number): JsonObject {
    const map: JsonObject = {}
    for (let line = this.#line; line?.indent === indent && isKey(line.text); line = this.#line) {
      const colon = line.text.indexOf(':')
      const key = line.text.slice(0, colon)
      const rest = line.text.slice(colon + 1).trim()
      if (rest !== '') map[key] = this.#scalar(rest, indent)
      else {
        this.#at++
        const next: Line | undefined = this.#line
        // A list may be indented like its key.
        map[key] = this.value(next?.text.startsWith('- ') ? next.indent : indent + 2)
      }
    }
    return map
  }

  #scalar(first: string, indent: number): Json {
    this.#at++
    let text = first
    let breaks = 0
    for (let line = this.#line; line !== undefined; line = this.#line) {
      if (line.text === '') breaks++
      else if (line.indent <= indent) break
      else {
        // In folded scalars, one line break is a space and each further one a line break; a preceding backslash
        // removes it.
        if (text.endsWith('\\')) text = text.slice(0, -1)
        else text += breaks === 0 ? ' ' : '\n'.repeat(breaks)
        text += line.text.trimEnd()
        breaks = 0
      }
      this.#at++
    }
    return scalarOf(text)
  }
}

const isKey = (text: string): boolean => /^[A-Za-z_]\w*:( |$)/.test(text)

function scalarOf(text: string): Json {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'")
  if (text.startsWith('"')) return JSON.parse(text.replaceAll('\\ ', ' ')) as Json
  if (text === '[]') return []
  if (text === '{}') return {}
  if (/^[[{&*|>!]/.test(text)) throw new TypeError(`Unsupported YAML: ${text.slice(0, 40)}`)
  if (text === 'null' || text === '~') return null
  if (text === 'true' || text === 'false') return text === 'true'
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}
