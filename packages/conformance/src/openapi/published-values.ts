import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { SharedFormat } from '@modelgate/core'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { requestDocuments, walkOf } from './request-documents.ts'
import { distinct, type Probe, probesOf } from './walk.ts'

/**
 * The list of every request field that the published OpenAPI documents (OpenAI, Anthropic, Google, Open Responses) and
 * Bedrock's SDK name, with every enum value and one value of each other kind. It is derived from the documents and checked in,
 * so that the tests run without them. `npx vitest run --config vitest.workspace.ts --project conformance
 * published-values -u` rewrites it; the documents must be next to the checkout or at MODELGATE_SHARED.
 *
 * One line per field: format, path, values as JSON. In a path, `[]` is a list element, `{}` a member with a
 * user-defined name, and `[type=text]` the variant of the value.
 */
export const listFile = fileURLToPath(new URL('published-values.tsv', import.meta.url))

export interface PublishedField {
  readonly format: SharedFormat
  readonly path: string
  readonly values: readonly Json[]
}

/** Returns the list's text, derived from the documents. */
export function deriveList(): string {
  const openResponses = {
    ...requestDocuments.responses[0],
    file: 'openresponses.2026-04-24.openapi.json',
    root: 'CreateResponseBody',
  } as (typeof requestDocuments.responses)[number]
  const documents = { ...requestDocuments, responses: [...requestDocuments.responses, openResponses] }
  const lines = Object.entries(documents).flatMap(([format, list]) => {
    const fields = new Map<string, Set<string>>()
    for (const probe of distinct(list.flatMap((document) => probesOf(walkOf(document))))) {
      const path = pathOf(probe)
      fields.set(path, (fields.get(path) ?? new Set()).add(JSON.stringify(withoutToken(probe))))
    }
    return [...fields].map(([path, values]) => `${format}\t${path}\t[${[...values].join(',')}]`)
  })
  return `${lines.join('\n')}\n`
}

/** Returns a probe's path with the list positions of its pointer, which distinguish lists from objects. */
function pathOf({ path, pointer }: Probe): string {
  const places = pointer.split('/')
  return path
    .split('/')
    .map((step, at) => (step.startsWith('*') ? `${places[at] === 'probed' ? '{}' : '[]'}${step.slice(1)}` : step))
    .join('/')
}

/** Generated tokens differ between runs. */
const withoutToken = ({ value, token }: Probe): Json =>
  token === ''
    ? value
    : (JSON.parse(JSON.stringify(value).replaceAll(token, 'x').replaceAll(token.toLowerCase(), 'x')) as Json)

export const readList = (): readonly PublishedField[] =>
  readFileSync(listFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [format, path, values] = line.split('\t') as [SharedFormat, string, string]
      return { format, path, values: JSON.parse(values) as Json[] }
    })

/** The smallest body of each format. */
const smallest: Readonly<Record<SharedFormat, JsonObject>> = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'Hello' }] },
  messages: { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hello' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] },
  responses: { model: 'm', input: 'Hello' },
  converse: { messages: [{ role: 'user', content: [{ text: 'Hello' }] }] },
}

/**
 * Returns a request with one value in one field. Other fields that the provider requires are missing: the gateway does
 * not need them.
 */
export function bodyWith({ format, path }: PublishedField, value: Json): JsonObject {
  let inner = value
  const steps = path.split('/').slice(1)
  for (const step of steps.toReversed()) {
    const [, name = '', labels = ''] = /^(\[\]|\{\}|[^[]*)(.*)$/.exec(step) ?? []
    if (isObject(inner)) inner = { ...labelled(labels), ...inner }
    inner = name === '[]' ? [inner] : { [name === '{}' ? 'probed' : name]: inner }
  }
  const body = { ...smallest[format], ...(inner as JsonObject) }
  if (Array.isArray(body.messages)) body.messages = body.messages.map((message) => complete(message, format))
  return body
}

function labelled(labels: string): JsonObject {
  const [, key, word] = /\[(type|role)=([^\] ]+)/.exec(labels) ?? []
  return key === undefined || word === undefined ? {} : { [key]: word }
}

/** The specification requires a role, and the content of a user message. */
function complete(message: Json, format: SharedFormat): Json {
  if (!isObject(message)) return message
  const { role = 'user' } = message
  if (format === 'converse') return { role, content: [{ text: 'Hello' }], ...message }
  return role === 'user' && message.content === undefined
    ? { role, content: 'Hello', ...message }
    : { role, ...message }
}
