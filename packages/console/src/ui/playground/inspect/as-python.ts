import type { Json } from '../formats/format.ts'
import type { FileReference } from './file-references.ts'

export interface PythonOptions {
  readonly files?: ReadonlyMap<string, FileReference>
  /** Data is bytes and not base64, as Google's SDK requires. */
  readonly asBytes?: boolean
}

/** Formats a value as Python. Placeholders of files become expressions that read them. */
export function asPythonValue(value: Json, indent = '', options: PythonOptions = {}): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'string') return fileRead(value, options) ?? quoted(value)
  if (typeof value !== 'object') return JSON.stringify(value)
  const deeper = `${indent}    `
  const inside = Array.isArray(value)
    ? value.map((item) => asPythonValue(item, deeper, options))
    : Object.entries(value).map(([name, item]) => {
        const isInline = options.asBytes === true && name === 'data' && typeof item === 'string' && 'mimeType' in value
        return `${quoted(name)}: ${isInline ? bytesOf(item, options) : asPythonValue(item, deeper, options)}`
      })
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (inside.length === 0) return open + close
  return `${open}\n${inside.map((line) => `${deeper}${line},\n`).join('')}${indent}${close}`
}

/** Strings of JSON are strings of Python, except for surrogates, which Python would not join. */
const quoted = (text: string): string => JSON.stringify(text)

const opened = (name: string): string => `open(${quoted(name)}, "rb").read()`

function fileRead(value: string, { files }: PythonOptions): string | undefined {
  const file = files?.get(value)
  if (file === undefined) return undefined
  const read = `base64.b64encode(${opened(file.name)}).decode()`
  return file.prefix === '' ? read : `${quoted(file.prefix)} + ${read}`
}

function bytesOf(value: string, { files }: PythonOptions): string {
  const file = files?.get(value)
  return file === undefined ? `base64.b64decode(${quoted(value)})` : opened(file.name)
}

/** Imports of the modules that code uses, in alphabetical order. */
export const pythonImports = (code: string, ...modules: readonly string[]): string =>
  modules
    .filter((module) => code.includes(`${module}.`))
    .map((module) => `import ${module}\n`)
    .join('')
