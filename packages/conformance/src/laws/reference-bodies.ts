import {
  type JsonObject,
  type ReferencePlace,
  type ReferenceScheme,
  referencePlaces,
} from '@modelgate/core/test-support'
import { type Format, formats } from '../base/recorded-traffic.ts'

/** A place of the reference table, with a function that writes a body that is valid except for its reference. */
export interface PlaceCase {
  readonly scheme: ReferenceScheme
  readonly place: ReferencePlace
  body(id: string): JsonObject
}

const bases: Readonly<Record<ReferenceScheme, JsonObject>> = {
  chat: { messages: [{ role: 'user', content: 'hello' }] },
  messages: { max_tokens: 10, messages: [{ role: 'user', content: 'hello' }] },
  responses: { input: [{ role: 'user', content: 'hello' }] },
  conversations: {},
  gemini: { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  caches: { model: 'models/placeholder', contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  converse: { messages: [{ role: 'user', content: [{ text: 'hello' }] }] },
  'realtime-sessions': { session: { type: 'realtime', model: 'placeholder' } },
  speech: { input: 'hello' },
  'image-edits': { prompt: 'a hat', images: [{ image_url: 'data:image/png;base64,AAAA' }] },
  images: { instances: [{ prompt: 'a hat' }] },
  embeddings: { content: { parts: [{ text: 'hello' }] } },
}

/** A prompt that the configuration must accept: variables require a prompt. */
export const listedPrompt = 'listed-prompt'

/**
 * Members that an object needs next to the reference, by the path to that object. The first matching pattern applies.
 */
const companions: readonly (readonly [ReferenceScheme, RegExp, JsonObject])[] = [
  ['chat', /^messages\[\]$/, { role: 'user' }],
  ['chat', /content\[\]$/, { type: 'document_reference' }],
  ['messages', /^container\.skills\[\]$/, { type: 'custom' }],
  ['messages', /^messages\[\]$/, { role: 'user' }],
  ['messages', /source\.content\[\]$/, { type: 'image' }],
  ['messages', /source$/, { type: 'file' }],
  ['messages', /content\[\]$/, { type: 'document' }],
  ['responses', /^input\[\]\.content\[\]$/, { type: 'input_file' }],
  ['responses', /^input\[\]\.output\[\]$/, { type: 'input_image' }],
  ['responses', /^input\[\]\.output$/, { type: 'computer_screenshot' }],
  ['responses', /environment$/, { type: 'container_reference' }],
  ['responses', /\.container$/, { type: 'auto' }],
  ['responses', /skills\[\]$/, { type: 'skill_reference' }],
  ['responses', /^prompt$/, { id: listedPrompt }],
  ['responses', /\*$/, { type: 'input_file' }],
  ['gemini', /^(contents|.*\.contents)\[\]$/, { role: 'user' }],
  ['gemini', /functionResponse$|function_response$/, { name: 'f', response: {} }],
  ['images', /^instances\[\]$/, { prompt: 'a hat' }],
]

/** Lists whose element type depends on their content. */
const elements: readonly (readonly [RegExp, JsonObject])[] = [
  [/^messages\[\]\.audio/, { role: 'assistant' }],
  [/^messages\[\]\.content\[\]\.content\[\]/, {}],
  [/^input\[\]\.content\[\]/, { type: 'message', role: 'user' }],
  [/^input\[\]\.output\[\]/, { type: 'function_call_output', call_id: 'c' }],
  [/^input\[\]\.output\./, { type: 'computer_call_output', call_id: 'c' }],
  [/^input\[\]\.container_id/, { type: 'code_interpreter_call', id: 'ci_1', code: '', outputs: [] }],
  [/^input\[\]\.environment/, { type: 'shell_call', call_id: 'c', action: { commands: [] } }],
  [/^input\[\]\.tools\[\]/, { type: 'additional_tools', role: 'developer' }],
  [/^input\[\]\.id/, { type: 'item_reference' }],
]
const tools: readonly (readonly [RegExp, JsonObject])[] = [
  [/vector_store_ids/, { type: 'file_search' }],
  [/environment/, { type: 'shell' }],
  [/input_image_mask/, { type: 'image_generation' }],
  [/container/, { type: 'code_interpreter' }],
  [/./, {}],
]

const firstOf = (table: readonly (readonly [RegExp, JsonObject])[], path: string): JsonObject =>
  table.find(([pattern]) => pattern.test(path))?.[1] ?? {}

function companionOf(scheme: ReferenceScheme, at: string, whole: string): JsonObject {
  if (scheme === 'responses' && at.endsWith('tools[]')) return firstOf(tools, whole)
  if (at === 'input[]') return firstOf(elements, whole)
  if (scheme === 'chat' && at === 'messages[]' && whole.includes('audio')) return firstOf(elements, whole)
  if (scheme === 'messages' && at.endsWith('content[]')) return blockOf(at, whole)
  return companions.find(([of, pattern]) => of === scheme && pattern.test(at))?.[2] ?? {}
}

/** Returns the Messages block that can contain the rest of the path. */
function blockOf(at: string, whole: string): JsonObject {
  const rest = whole.slice(at.length)
  if (at.endsWith('source.content[]')) return { type: 'image' }
  if (rest.startsWith('.content[]')) return { type: 'tool_result', tool_use_id: 'toolu_1' }
  return rest.startsWith('.file_id') ? { type: 'container_upload' } : { type: 'document' }
}

/** Returns the value at the end of a path, wrapped in its required surroundings. */
function nested(scheme: ReferenceScheme, path: string, at: string, id: string): unknown {
  const rest = path.slice(at.length)
  if (rest === '') return id
  const list = rest.startsWith('[]')
  const step = list ? '[]' : (/^\.?(\*|[^.[]+)/.exec(rest)?.[0] ?? '')
  const inner = nested(scheme, path, at + step, id)
  if (list) return [inner]
  const name = step.replace('.', '')
  const companion = at === '' ? {} : companionOf(scheme, at, path)
  // A document holds its blocks in a source of another type.
  const source =
    path.slice(at.length).startsWith('.content[]') && at.endsWith('source') ? { type: 'content' } : companion
  return { ...source, [name === '*' ? 'variable' : name]: inner }
}

const caseOf = (scheme: ReferenceScheme, place: ReferencePlace): PlaceCase => ({
  scheme,
  place,
  body: (id) => ({ ...bases[scheme], ...(nested(scheme, place.path, '', id) as JsonObject) }),
})

/** Every place of the table in bodies of generation formats. */
export const chatPlaces: readonly (PlaceCase & { readonly scheme: Format })[] = formats.flatMap((format) =>
  referencePlaces[format]
    // A whole request within the request: only for counting tokens.
    .filter(({ path }) => !path.startsWith('generateContentRequest') && !path.startsWith('generate_content_request'))
    .map((place) => ({ ...caseOf(format, place), scheme: format })),
)

/** Every place of the table in bodies of other operations. */
export const operationPlaces: readonly PlaceCase[] = (
  ['realtime-sessions', 'speech', 'image-edits', 'images', 'embeddings'] as const
).flatMap((scheme) => referencePlaces[scheme].map((place) => caseOf(scheme, place)))
