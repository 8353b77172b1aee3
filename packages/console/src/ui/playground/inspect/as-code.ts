import type { Api, ApiRequest } from '../formats/format.ts'
import { asJavaScript, fileImport } from './as-javascript.ts'
import { asPythonValue, pythonImports } from './as-python.ts'
import { type ReferencedBody, referenceFiles } from './file-references.ts'

/** Environment variable for the token, which is never written out. */
export const tokenVariable = 'MODELGATE_TOKEN'

export interface Snippet {
  readonly id: string
  readonly title: string
  /** Selects the syntax colours. */
  readonly language: string
  readonly code: string
}

export interface AsCode {
  readonly format: Pick<Api, 'id' | 'credential'>
  readonly request: ApiRequest
  /** The gateway's address, without a trailing slash. */
  readonly base: string
  /** False for a gateway without authentication: no credential is sent. */
  readonly withToken: boolean
  /** A response that is not JSON: it is saved as a file, or printed as text. Default: JSON. */
  readonly output?: { readonly file: string } | 'text'
}

/** Returns the name of the file in which the response is saved. */
export const savedAs = ({ output }: AsCode): string | undefined =>
  typeof output === 'object' ? output.file : undefined

export const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Linux limits a single argument to 128 KiB; a longer body goes in by standard input. */
const longestArgument = 100_000

/** Returns the arguments of curl before the body. */
export function curlStart(call: AsCode): string {
  const { format, request, base, withToken } = call
  const mark = '\0'
  const credential = Object.entries(withToken ? format.credential(mark) : {}).map(
    // Double quotes let the shell insert the token.
    ([name, value]) => `-H "${name}: ${value.replace(mark, `$${tokenVariable}`)}"`,
  )
  const headers = Object.entries(request.headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`)
  const file = savedAs(call)
  const save = file === undefined ? [] : [`-o ${shellQuoted(file)}`]
  return [`curl -sS -N ${shellQuoted(base + request.path)}`, ...credential, ...headers, ...save].join(' \\\n  ')
}

export function asCurl(call: AsCode): string {
  const { request } = call
  const start = curlStart(call)
  const { body, files } = referenceFiles(request.body)
  const text = JSON.stringify(body, null, 2)
  if (files.size > 0) return `${start} \\\n  --data-binary @- <<JSON\n${withFiles(text, files)}\nJSON`
  return new TextEncoder().encode(text).length > longestArgument
    ? `${start} \\\n  --data-binary @- <<'JSON'\n${text}\nJSON`
    : `${start} \\\n  -d ${shellQuoted(text)}`
}

/** Returns the text for a here-document in which the shell inserts the files as base64. */
function withFiles(text: string, files: ReferencedBody['files']): string {
  let escaped = text.replaceAll(/[\\$`]/g, String.raw`\$&`)
  for (const [placeholder, { name, prefix }] of files)
    escaped = escaped.replace(
      // JSON writes the placeholder's NUL as an escape, whose backslash the shell needs twice.
      JSON.stringify(placeholder).slice(1, -1).replace('\\', '\\\\'),
      () => `${prefix}$(base64 < ${shellQuoted(name)} | tr -d '\\n')`,
    )
  return escaped
}

/** Returns the headers as expressions of a language, the token read from its variable. */
export function headerLines(
  { format, request, withToken }: AsCode,
  { quote, token, indent }: { quote: (text: string) => string; token: string; indent: string },
): string {
  const mark = '\0'
  const credential = Object.entries(withToken ? format.credential(mark) : {}).map(([name, value]) => {
    const before = value.replace(mark, '')
    return [name, before === '' ? token : `${quote(before)} + ${token}`] as const
  })
  const others = Object.entries(request.headers).map(([name, value]) => [name, quote(value)] as const)
  return [...credential, ...others].map(([name, value]) => `${indent}${quote(name)}: ${value},\n`).join('')
}

export const isStreamed = ({ request: { path, body } }: AsCode): boolean =>
  body.stream === true || path.includes(':streamGenerateContent')

/** Returns the line that prints or saves the response. */
export function pythonRead(call: AsCode): string {
  const file = savedAs(call)
  if (file !== undefined) return `open(${asPythonValue(file)}, "wb").write(response.read())`
  if (call.output === 'text') return 'print(response.read().decode())'
  return isStreamed(call)
    ? 'for line in response:\n        print(line.decode(), end="")'
    : 'print(json.dumps(json.load(response), indent=2))'
}

/** Uses the standard library only. */
export function asPython(call: AsCode): string {
  const { base, request } = call
  const headers = headerLines(call, {
    quote: asPythonValue,
    token: `os.environ["${tokenVariable}"]`,
    indent: '        ',
  })
  const { body, files } = referenceFiles(request.body)
  const code = `request = urllib.request.Request(
    ${asPythonValue(base + request.path)},
    method="POST",
    headers={
${headers}    },
    data=json.dumps(${asPythonValue(body, '    ', { files })}).encode(),
)
with urllib.request.urlopen(request) as response:
    ${pythonRead(call)}`
  return `${pythonImports(code, 'base64', 'json', 'os', 'urllib.request')}\n${code}`
}

export function asFetch(call: AsCode): string {
  const { base, request } = call
  const { body, files } = referenceFiles(request.body)
  const headers = headerLines(call, { quote: asJavaScript, token: `process.env.${tokenVariable}`, indent: '    ' })
  const imports = fileImport({ reads: files.size > 0, writes: savedAs(call) !== undefined })
  return `${imports === '' ? '' : `${imports}\n`}const response = await fetch(${asJavaScript(base + request.path)}, {
  method: 'POST',
  headers: {
${headers}  },
  body: JSON.stringify(${asJavaScript(body, '  ', files)}),
})
${fetchRead(call)}`
}

/** Returns the line that prints or saves the response. */
export function fetchRead(call: AsCode): string {
  const file = savedAs(call)
  if (file !== undefined) return `writeFileSync(${asJavaScript(file)}, Buffer.from(await response.arrayBuffer()))`
  if (call.output === 'text') return 'console.log(await response.text())'
  return isStreamed(call)
    ? 'for await (const text of response.body.pipeThrough(new TextDecoderStream())) process.stdout.write(text)'
    : 'console.log(JSON.stringify(await response.json(), null, 2))'
}
