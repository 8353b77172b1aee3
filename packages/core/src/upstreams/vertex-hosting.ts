import { isObject } from '../base/json/object.ts'
import type { Json, JsonObject } from '../base/json/types.ts'
import { respell, spelt } from '../formats/gemini/spelling.ts'
import { laterEvents } from './later-events.ts'
import type { BodyEdit, Hosting, Upstream } from './upstream.ts'

/** Google's own models have bare names, Anthropic's begin with `claude`, all others name their publisher first. */
const isClaude = (model: string): boolean => model.startsWith('claude')
const hasPublisher = (model: string): boolean => model.includes('/')

/** Without it the body is refused; the header that says it elsewhere is not read. */
const version = { anthropic_version: 'vertex-2023-10-16' } as const

const messages: Hosting = {
  modelInPath: { whole: '/{model}:rawPredict', stream: '/{model}:streamRawPredict' },
  edit: () => ({ set: version, drop: ['model'] }),
  // A count has no model in its path.
  editCount: () => ({ set: version }),
  toEvents: laterEvents(() => import('./vertex-events.ts').then((found) => found.withoutVertexEvents)),
}

const gemini: Hosting = {
  edit: ({ body }) => {
    const contents = withRoles(body.contents)
    return contents === undefined ? {} : { set: { contents } }
  },
  editCount: ({ body }) => flatCount(body),
}

/** The Gemini API takes a content without a role for the user's; Vertex AI refuses it. Undefined: each has one. */
function withRoles(contents: Json | undefined): Json | undefined {
  if (isObject(contents)) return contents.role === undefined ? [{ role: 'user', ...contents }] : undefined
  if (!Array.isArray(contents) || contents.every((content) => !isObject(content) || hasRole(content))) return undefined
  return contents.map((content) => (isObject(content) && !hasRole(content) ? { ...content, role: 'user' } : content))
}

const hasRole = ({ role }: JsonObject): boolean => typeof role === 'string' && role !== ''

/** What is counted stands at the top of the body here, where the Gemini API has a whole request below one field. */
const counted = ['contents', 'systemInstruction', 'tools', 'generationConfig']

function flatCount(body: JsonObject): BodyEdit {
  const nested = spelt(body, 'generateContentRequest')
  const inner = body[nested]
  const request: JsonObject = isObject(inner) ? inner : body
  const set: JsonObject = {}
  if (isObject(inner)) {
    const fields = respell(inner)
    for (const name of counted) {
      const value = fields[name]
      if (value !== undefined && value !== null) set[name] = value
    }
  }
  const contents = withRoles(request.contents)
  if (contents !== undefined) set.contents = contents
  return isObject(inner) ? { set, drop: [nested] } : { set }
}

export const vertexHosting: NonNullable<Upstream['hosting']> = { gemini, messages }

/** A model has one format here. */
export const vertexServes: NonNullable<Upstream['serves']> = (format, model) =>
  format === (isClaude(model) ? 'messages' : hasPublisher(model) ? 'chat' : 'gemini')
