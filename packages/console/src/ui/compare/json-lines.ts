import type { Json } from './json.ts'

/** One line of a formatted value. */
export interface JsonLine {
  /** JSON Pointer to the value that begins or ends on this line. */
  readonly pointer: string
  readonly depth: number
  /** `"name": `, if the value has one. */
  readonly name: string
  readonly text: string
  /** The value of a line that neither opens nor closes another. */
  readonly leaf?: Json
  /** True on the line that closes an earlier one. */
  readonly closes?: true
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/** Returns the lines of JSON.stringify(value, null, 2), each with its pointer. */
export function jsonLines(value: Json): readonly JsonLine[] {
  const lines: JsonLine[] = []
  const write = (value: Json, pointer: string, depth: number, name: string, comma: string): void => {
    const entries: [string, Json][] | undefined =
      value === null || typeof value !== 'object'
        ? undefined
        : Array.isArray(value)
          ? value.map((item, index) => [String(index), item])
          : Object.entries(value)
    const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
    if (entries === undefined || entries.length === 0) {
      const text = entries === undefined ? JSON.stringify(value) : open + close
      lines.push({ pointer, depth, name, text: text + comma, leaf: value })
      return
    }
    lines.push({ pointer, depth, name, text: open })
    for (const [index, [key, item]] of entries.entries()) {
      const label = Array.isArray(value) ? '' : `${JSON.stringify(key)}: `
      write(item, `${pointer}/${escaped(key)}`, depth + 1, label, index === entries.length - 1 ? '' : ',')
    }
    lines.push({ pointer, depth, name: '', text: close + comma, closes: true })
  }
  write(value, '', 0, '', '')
  return lines
}

/** Relation of an upstream line to the client's request. */
export type Origin = 'same' | 'elsewhere' | 'new'

/** Returns a function that classifies lines of the upstream request. */
export function originsIn(client: readonly JsonLine[]): (line: JsonLine) => Origin | undefined {
  const places = new Set<string>()
  const values = new Set<string>()
  for (const { pointer, name, leaf } of client) {
    if (leaf === undefined) continue
    const value = JSON.stringify(leaf)
    places.add(`${pointer} ${value}`)
    // Short values occur everywhere: they match only together with their name.
    values.add(value.length > 8 ? value : name + value)
  }
  return ({ pointer, name, leaf }) => {
    if (leaf === undefined) return undefined
    const value = JSON.stringify(leaf)
    if (places.has(`${pointer} ${value}`)) return 'same'
    return values.has(value.length > 8 ? value : name + value) ? 'elsewhere' : 'new'
  }
}
