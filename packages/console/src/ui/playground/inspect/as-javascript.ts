import type { Json } from '../formats/format.ts'
import type { FileReference } from './file-references.ts'

const bare = /^[A-Za-z_$][\w$]*$/

type Files = ReadonlyMap<string, FileReference>

/** Formats a value as JavaScript as a person would write it. Placeholders of files become expressions that read them. */
export function asJavaScript(value: Json, indent = '', files?: Files): string {
  if (typeof value === 'string') return fileRead(files?.get(value)) ?? quoted(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const deeper = `${indent}  `
  const inside = Array.isArray(value)
    ? value.map((item) => asJavaScript(item, deeper, files))
    : Object.entries(value).map(([name, item]) => `${nameOf(name)}: ${asJavaScript(item, deeper, files)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (inside.length === 0) return open + close
  return `${open}\n${inside.map((line) => `${deeper}${line},\n`).join('')}${indent}${close}`
}

/** Returns the import for code that reads or writes files. */
export function fileImport({ reads, writes = false }: { reads: boolean; writes?: boolean }): string {
  const names = [...(reads ? ['readFileSync'] : []), ...(writes ? ['writeFileSync'] : [])]
  return names.length === 0 ? '' : `import { ${names.join(', ')} } from 'node:fs'\n`
}

function fileRead(file: FileReference | undefined): string | undefined {
  if (file === undefined) return undefined
  const read = `readFileSync(${quoted(file.name)}, 'base64')`
  return file.prefix === '' ? read : `${quoted(file.prefix)} + ${read}`
}

/** A plain `__proto__` key would set the prototype instead. */
const nameOf = (name: string): string =>
  name === '__proto__' ? "['__proto__']" : bare.test(name) ? name : quoted(name)

const quoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`
