import { baseUrls } from '../../address.ts'
import type { ApiRequest, Format, JsonObject } from '../formats/format.ts'
import { asJavaScript } from './as-javascript.ts'

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
  readonly format: Format
  readonly request: ApiRequest
  /** The gateway's address, without a trailing slash. */
  readonly base: string
  /** False for a gateway without authentication: no credential is sent. */
  readonly withToken: boolean
}

/** Returns the same call as a command and as code: running either sends the Playground's request. */
export const snippetsOf = (call: AsCode): readonly Snippet[] => {
  const { title, code } = sdks[call.format.id]
  return [
    { id: 'curl', title: 'curl', language: 'sh', code: asCurl(call) },
    { id: 'sdk', title, language: 'js', code: code(call) },
  ]
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Linux limits a single argument to 128 KiB; a longer body goes in by standard input. */
const longestArgument = 100_000

function asCurl({ format, request, base, withToken }: AsCode): string {
  const mark = '\0'
  const credential = Object.entries(withToken ? format.credential(mark) : {}).map(
    // Double quotes let the shell insert the token.
    ([name, value]) => `-H "${name}: ${value.replace(mark, `$${tokenVariable}`)}"`,
  )
  const headers = Object.entries(request.headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`)
  const body = JSON.stringify(request.body, null, 2)
  const start = [`curl -sS -N ${shellQuoted(base + request.path)}`, ...credential, ...headers].join(' \\\n  ')
  return new TextEncoder().encode(body).length > longestArgument
    ? `${start} \\\n  --data-binary @- <<'JSON'\n${body}\nJSON`
    : `${start} \\\n  -d ${shellQuoted(body)}`
}

interface Sdk {
  readonly title: string
  code(call: AsCode): string
}

const sdks = {
  chat: { title: 'openai', code: (call) => withOpenAi(call, 'chat.completions') },
  responses: { title: 'openai', code: (call) => withOpenAi(call, 'responses') },
  messages: { title: '@anthropic-ai/sdk', code: withAnthropic },
  gemini: { title: '@google/genai', code: withGenAi },
} satisfies Record<Format['id'], Sdk>

const withOpenAi = (call: AsCode, resource: string): string =>
  `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${asJavaScript(baseUrls(call.base).openai)},
  apiKey: process.env.${tokenVariable},
})

${asked(call, `client.${resource}.create`, call.request.body)}`

function withAnthropic(call: AsCode): string {
  return `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({
  baseURL: ${asJavaScript(baseUrls(call.base).anthropic)},
  apiKey: process.env.${tokenVariable},
})

${asked(call, 'client.messages.create', call.request.body)}`
}

/** Google's SDK places the fields of the body elsewhere: all but the conversation are in `config`. */
function withGenAi({ request, base }: AsCode): string {
  const { contents = [], generationConfig, ...others } = request.body
  const [, name = '', method = ''] = /\/models\/(.+):(\w+)/.exec(request.path) ?? []
  const config = { ...(generationConfig as JsonObject | undefined), ...others }
  const asked: JsonObject = {
    model: decodeURIComponent(name),
    contents,
    ...(Object.keys(config).length === 0 ? {} : { config }),
  }
  const streams = method.startsWith('stream')
  return `import { GoogleGenAI } from '@google/genai'

const client = new GoogleGenAI({
  apiKey: process.env.${tokenVariable},
  httpOptions: { baseUrl: ${asJavaScript(baseUrls(base).gemini)} },
})

${answered(streams, `client.models.generateContent${streams ? 'Stream' : ''}(${asJavaScript(asked)})`)}`
}

const answered = (streams: boolean, call: string): string =>
  streams
    ? `const stream = await ${call}
for await (const event of stream) console.log(JSON.stringify(event))`
    : `const answer = await ${call}
console.log(JSON.stringify(answer, null, 2))`

/** Headers that the SDKs send themselves. */
const byItself = new Set(['content-type', 'anthropic-version'])

function asked({ request }: AsCode, method: string, body: JsonObject): string {
  const more = Object.fromEntries(Object.entries(request.headers).filter(([name]) => !byItself.has(name.toLowerCase())))
  const options = Object.keys(more).length === 0 ? '' : `, ${asJavaScript({ headers: more })}`
  return answered(body.stream === true, `${method}(${asJavaScript(body)}${options})`)
}
