import type { Json } from '../formats/format.ts'

const bare = /^[A-Za-z_$][\w$]*$/

/** Formats a value as JavaScript as a person would write it. */
export function asJavaScript(value: Json, indent = ''): string {
  if (typeof value === 'string') return quoted(value)
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const deeper = `${indent}  `
  const inside = Array.isArray(value)
    ? value.map((item) => asJavaScript(item, deeper))
    : Object.entries(value).map(([name, item]) => `${nameOf(name)}: ${asJavaScript(item, deeper)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (inside.length === 0) return open + close
  return `${open}\n${inside.map((line) => `${deeper}${line},\n`).join('')}${indent}${close}`
}

/** A plain `__proto__` key would set the prototype instead. */
const nameOf = (name: string): string =>
  name === '__proto__' ? "['__proto__']" : bare.test(name) ? name : quoted(name)

const quoted = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`
