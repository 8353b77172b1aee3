import { baseUrls } from '../../../address.ts'
import type { Json } from '../../formats/format.ts'
import { type AsCode, asCurl, asFetch, asPython, isStreamed, type Snippet } from '../../inspect/as-code.ts'
import { asJavaScript, fileImport } from '../../inspect/as-javascript.ts'
import { asPythonValue, pythonImports } from '../../inspect/as-python.ts'
import { keyInJavaScript, keyInPython } from '../../inspect/as-sdk.ts'
import { asFormCurl, asFormFetch, asFormPython, fileInJavaScript, fileInPython, filesByField } from './form.ts'

/** How OpenAI's SDKs make a call. */
export interface SdkCall {
  /** Method of both clients, such as `images.generate`. */
  readonly method: string
  /** Arguments that the SDK for Python knows: others go into `extra_body`. */
  readonly known: readonly string[]
  /** Lines that use `response`, or the events of `stream`. Default: it is printed. */
  readonly javascript?: string
  readonly python?: string
}

/** Returns a call as a command and as code, with OpenAI's SDKs. */
export const openAiSnippets = (call: AsCode, sdk: SdkCall): readonly Snippet[] =>
  plainSnippets(call, [
    { id: 'sdk', title: 'openai', language: 'js', code: inJavaScript(call, sdk) },
    { id: 'python-sdk', title: 'openai (Python)', language: 'python', code: inPython(call, sdk) },
  ])

/** Returns a call as a command, with the SDKs, and as code without packages. */
export function plainSnippets(call: AsCode, sdks: readonly Snippet[]): readonly Snippet[] {
  const isForm = call.request.files !== undefined
  return [
    { id: 'curl', title: 'curl', language: 'sh', code: isForm ? asFormCurl(call) : asCurl(call) },
    ...sdks,
    { id: 'python', title: 'Python', language: 'python', code: isForm ? asFormPython(call) : asPython(call) },
    { id: 'fetch', title: 'fetch', language: 'js', code: isForm ? asFormFetch(call) : asFetch(call) },
  ]
}

const printsInJavaScript = 'console.log(JSON.stringify(response, null, 2))'
const printsEventsInJavaScript = 'for await (const event of stream) console.log(JSON.stringify(event))'

function inJavaScript(call: AsCode, { method, javascript }: SdkCall): string {
  const { base, request } = call
  const streams = isStreamed(call)
  const uses = javascript ?? (streams ? printsEventsInJavaScript : printsInJavaScript)
  const imports = fileImport({ reads: request.files !== undefined, writes: uses.includes('writeFileSync') })
  return `${imports}import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${asJavaScript(baseUrls(base).openai)},
  apiKey: ${keyInJavaScript(call)},
})

const ${streams ? 'stream' : 'response'} = await client.${method}(${javascriptArguments(call)})
${uses}`
}

function javascriptArguments({ request: { body, files } }: AsCode): string {
  if (files === undefined) return asJavaScript(body)
  const fields = Object.entries(body).map(([name, value]) => `  ${name}: ${asJavaScript(value, '  ')},\n`)
  const uploads = filesByField(files).map(
    ([field, of, isList]) =>
      `  ${field}: ${isList ? `[\n${of.map((file) => `    ${fileInJavaScript(file)},\n`).join('')}  ]` : of.map(fileInJavaScript).join('')},\n`,
  )
  return `{\n${fields.join('')}${uploads.join('')}}`
}

function inPython(call: AsCode, { method, known, python }: SdkCall): string {
  const { base, request } = call
  const streams = isStreamed(call)
  const entries = Object.entries(request.body)
  const extra = Object.fromEntries(entries.filter(([name]) => !known.includes(name)))
  const line = (name: string, value: Json): string => `    ${name}=${asPythonValue(value, '    ')},\n`
  const lines = [
    ...entries.filter(([name]) => known.includes(name)).map(([name, value]) => line(name, value)),
    ...filesByField(request.files ?? []).map(
      ([field, of, isList]) =>
        `    ${field}=${isList ? `[\n${of.map((file) => `        ${fileInPython(file)},\n`).join('')}    ]` : of.map(fileInPython).join('')},\n`,
    ),
    ...(Object.keys(extra).length === 0 ? [] : [line('extra_body', extra)]),
  ]
  const code = `from openai import OpenAI

client = OpenAI(
    base_url=${asPythonValue(baseUrls(base).openai)},
    api_key=${keyInPython(call)},
)

${streams ? 'stream' : 'response'} = client.${method}(
${lines.join('')})
${python ?? (streams ? 'for event in stream:\n    print(event.to_json(indent=None))' : 'print(response.to_json())')}`
  return pythonImports(code, 'base64', 'json', 'os') + code
}

/** Returns code for an endpoint without a method of OpenAI's SDKs, through their methods for any endpoint. */
export function postSnippets(call: AsCode, path: string): readonly Snippet[] {
  const { base, request } = call
  const javascript = `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${asJavaScript(baseUrls(base).openai)},
  apiKey: ${keyInJavaScript(call)},
})

const response = await client.post(${asJavaScript(path)}, {
  body: ${asJavaScript(request.body, '  ')},
})
${printsInJavaScript}`
  const python = `from openai import OpenAI

client = OpenAI(
    base_url=${asPythonValue(baseUrls(base).openai)},
    api_key=${keyInPython(call)},
)

response = client.post(
    ${asPythonValue(path)},
    cast_to=object,
    body=${asPythonValue(request.body, '    ')},
)
print(json.dumps(response, indent=2))`
  return plainSnippets(call, [
    { id: 'sdk', title: 'openai', language: 'js', code: javascript },
    {
      id: 'python-sdk',
      title: 'openai (Python)',
      language: 'python',
      code: pythonImports(python, 'json', 'os') + python,
    },
  ])
}
