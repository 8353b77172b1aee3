import { baseUrls } from '../../address.ts'
import type { Format, JsonObject } from '../formats/format.ts'
import { objectOf } from '../formats/read.ts'
import { type AsCode, isStreamed, tokenVariable } from './as-code.ts'
import { asJavaScript, fileImport } from './as-javascript.ts'
import { asPythonValue, pythonImports } from './as-python.ts'
import { referenceFiles } from './file-references.ts'

interface Sdk {
  /** Name of the package. */
  readonly title: string
  readonly javascript: (call: AsCode) => string
  readonly pythonTitle: string
  readonly python: (call: AsCode) => string
}

/** The official SDKs, by the format of their requests. Running the code sends the Playground's request. */
const sdks = {
  chat: openAi('chat.completions', [
    ['model', 'messages', 'temperature', 'max_completion_tokens', 'top_p', 'stop', 'seed', 'reasoning_effort'],
    ['response_format', 'tools', 'stream', 'stream_options', 'metadata'],
  ]),
  responses: openAi('responses', [
    ['model', 'input', 'store', 'instructions', 'temperature', 'max_output_tokens', 'top_p', 'reasoning', 'text'],
    ['tools', 'stream', 'metadata'],
  ]),
  messages: {
    title: '@anthropic-ai/sdk',
    javascript: (call) =>
      inJavaScript(
        call,
        "import Anthropic from '@anthropic-ai/sdk'",
        'Anthropic',
        baseUrls(call.base).anthropic,
        'messages',
      ),
    pythonTitle: 'anthropic (Python)',
    python: (call) =>
      inPython(call, 'from anthropic import Anthropic', 'Anthropic', baseUrls(call.base).anthropic, 'messages', [
        'model',
        'max_tokens',
        'messages',
        'system',
        'stop_sequences',
        'tools',
        'stream',
      ]),
  },
  gemini: {
    title: '@google/genai',
    javascript: genAiInJavaScript,
    pythonTitle: 'google-genai (Python)',
    python: genAiInPython,
  },
} satisfies Record<Format['id'], Sdk>

/** Returns the SDK of a format. Undefined: the id is not that of a format. */
export const sdkOf = (id: string): Sdk | undefined => (Object.hasOwn(sdks, id) ? sdks[id as Format['id']] : undefined)

function openAi(resource: string, known: readonly (readonly string[])[]): Sdk {
  return {
    title: 'openai',
    javascript: (call) =>
      inJavaScript(call, "import OpenAI from 'openai'", 'OpenAI', baseUrls(call.base).openai, resource),
    pythonTitle: 'openai (Python)',
    python: (call) =>
      inPython(call, 'from openai import OpenAI', 'OpenAI', baseUrls(call.base).openai, resource, known.flat()),
  }
}

/** The SDKs require a key, also for a gateway that needs none. */
export const keyInJavaScript = ({ withToken }: AsCode): string =>
  withToken ? `process.env.${tokenVariable}` : "'none'"
export const keyInPython = ({ withToken }: AsCode): string => (withToken ? `os.environ["${tokenVariable}"]` : '"none"')

/** Headers that the SDKs send themselves. */
const byItself = new Set(['content-type', 'anthropic-version'])

const ownHeaders = ({ request }: AsCode): JsonObject =>
  Object.fromEntries(Object.entries(request.headers).filter(([name]) => !byItself.has(name.toLowerCase())))

const received = (isStream: boolean, call: string): string =>
  isStream
    ? `const stream = await ${call}
for await (const event of stream) console.log(JSON.stringify(event))`
    : `const response = await ${call}
console.log(JSON.stringify(response, null, 2))`

function inJavaScript(call: AsCode, importLine: string, client: string, baseURL: string, resource: string): string {
  const { body, files } = referenceFiles(call.request.body)
  const headers = ownHeaders(call)
  const options = Object.keys(headers).length === 0 ? '' : `, ${asJavaScript({ headers })}`
  return `${fileImport({ reads: files.size > 0 })}${importLine}

const client = new ${client}({
  baseURL: ${asJavaScript(baseURL)},
  apiKey: ${keyInJavaScript(call)},
})

${received(isStreamed(call), `client.${resource}.create(${asJavaScript(body, '', files)}${options})`)}`
}

/** Python's SDKs reject arguments that they do not know: those go into `extra_body`. */
function inPython(
  call: AsCode,
  importLine: string,
  client: string,
  baseURL: string,
  resource: string,
  known: readonly string[],
): string {
  const { body, files } = referenceFiles(call.request.body)
  const entries = Object.entries(body)
  const others = entries.filter(([name]) => !known.includes(name))
  const headers = ownHeaders(call)
  const lines = [
    ...entries.filter(([name]) => known.includes(name)),
    ...(others.length === 0 ? [] : [['extra_body', Object.fromEntries(others)] as const]),
    ...(Object.keys(headers).length === 0 ? [] : [['extra_headers', headers] as const]),
  ].map(([name, value]) => `    ${name}=${asPythonValue(value, '    ', { files })},\n`)
  const code = `${importLine}

client = ${client}(
    base_url=${asPythonValue(baseURL)},
    api_key=${keyInPython(call)},
)

response = client.${resource}.create(
${lines.join('')})
${isStreamed(call) ? 'for event in response:\n    print(event.to_json(indent=None))' : 'print(response.to_json())'}`
  return pythonImports(code, 'base64', 'os') + code
}

/** Fields of the configuration that Google's SDKs know; they send others only as `extraBody`. */
const configFields = new Set([
  ...['temperature', 'maxOutputTokens', 'topP', 'topK', 'stopSequences', 'seed', 'candidateCount', 'thinkingConfig'],
  ...['responseMimeType', 'responseJsonSchema', 'responseSchema', 'presencePenalty', 'frequencyPenalty'],
])
const topFields = new Set(['systemInstruction', 'tools', 'toolConfig', 'safetySettings'])

/** Google's SDKs place the fields of the body elsewhere: all but the conversation are in `config`. */
function genAiParts({ request }: AsCode) {
  const { body, files } = referenceFiles(request.body)
  const { contents = [], generationConfig, ...others } = body
  const [, name = '', method = ''] = /\/models\/(.+):(\w+)/.exec(request.path) ?? []
  const config: JsonObject = {}
  const extraConfig: JsonObject = {}
  const extra: JsonObject = {}
  for (const [field, value] of Object.entries(objectOf(generationConfig)))
    (configFields.has(field) ? config : extraConfig)[field] = value
  for (const [field, value] of Object.entries(others)) (topFields.has(field) ? config : extra)[field] = value
  if (Object.keys(extraConfig).length > 0) extra.generationConfig = extraConfig
  if (Object.keys(extra).length > 0) config.httpOptions = { extraBody: extra }
  return { model: decodeURIComponent(name), contents, config, files, streams: method.startsWith('stream') }
}

function genAiInJavaScript(call: AsCode): string {
  const { model, contents, config, files, streams } = genAiParts(call)
  const parameters: JsonObject = { model, contents, ...(Object.keys(config).length === 0 ? {} : { config }) }
  return `${fileImport({ reads: files.size > 0 })}import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({
  apiKey: ${keyInJavaScript(call)},
  httpOptions: { baseUrl: ${asJavaScript(baseUrls(call.base).gemini)} },
})

${received(streams, `client.models.generateContent${streams ? 'Stream' : ''}(${asJavaScript(parameters, '', files)})`)}`
}

function genAiInPython(call: AsCode): string {
  const { model, contents, config, files, streams } = genAiParts(call)
  const options = { files, asBytes: true }
  const baseUrl = asPythonValue(baseUrls(call.base).gemini)
  const code = `from google import genai

client = genai.Client(
    api_key=${keyInPython(call)},
    http_options={"base_url": ${baseUrl}},
)

response = client.models.generate_content${streams ? '_stream' : ''}(
    model=${asPythonValue(model)},
    contents=${asPythonValue(contents, '    ', options)},
${Object.keys(config).length === 0 ? '' : `    config=${asPythonValue(config, '    ', options)},\n`})
${streams ? 'for chunk in response:\n    print(chunk.model_dump_json(exclude_none=True))' : 'print(response.model_dump_json(exclude_none=True, indent=2))'}`
  return pythonImports(code, 'base64', 'os') + code
}
