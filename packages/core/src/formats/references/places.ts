import type { Json, JsonObject } from '../../base/json/json.ts'
import type { SharedFormat } from '../../base/names.ts'

/** Kinds of stored state that a request can refer to; the names of the setting `references`. */
export const referenceKinds = [
  'responses',
  'conversations',
  'prompts',
  'files',
  'containers',
  'vectorStores',
  'caches',
  'batches',
  'calls',
  'skills',
  'voices',
  'guardrails',
] as const
/** A kind of stored state that a request can refer to; see `GatewayConfig.references`. */
export type ReferenceKind = (typeof referenceKinds)[number]

/** Kinds whose objects only one upstream has: a request that refers to one is sent there. Other kinds are sent to any target. */
export const pinningKinds: ReadonlySet<ReferenceKind> = new Set(['caches'])

/** A place in a request's body where a reference to stored state can stand. */
export interface ReferencePlace {
  readonly kind: ReferenceKind
  /** Names from the body's root, separated by dots. `[]`: each element of a list. `*`: each member of an object. */
  readonly path: string
  /** The code that the format's clients know for an id that is not found. Default: that of the kind, if there is one. */
  readonly code?: string
  /** Returns whether the value refers to stored state. Default: every non-empty text does. */
  readonly isReference?: (value: string, holder: JsonObject) => boolean
  /** Returns the id of the object that a value names. Default: the value is the id. */
  readonly idOf?: (value: string) => string
}

/** Bodies that can hold references: those of the shared chat formats, and of some other operations. */
export type ReferenceScheme =
  | SharedFormat
  | 'conversations'
  | 'caches'
  | 'realtime-sessions'
  | 'speech'
  | 'image-edits'
  | 'images'
  | 'embeddings'

const of = (kind: ReferenceKind, ...paths: readonly string[]): ReferencePlace[] =>
  paths.map((path): ReferencePlace => ({ kind, path }))

const googleFiles = 'generativelanguage.googleapis.com'

/**
 * Returns whether the provider reads a URI with the credentials of the gateway's operator: a file of the Gemini Files API, an object in
 * Cloud Storage or S3. Other `http` URLs are public.
 */
export function isStoredUri(uri: string): boolean {
  // Data may be megabytes long.
  if (/^\s*data:/i.test(uri)) return false
  if (!/^\s*https?:/i.test(uri)) return true
  try {
    return new URL(uri).hostname.replace(/\.$/, '').endsWith(googleFiles)
  } catch {
    return true
  }
}

/** The URI of a file of the Gemini Files API, with its name. */
const googleFileUri = /^https:\/\/generativelanguage\.googleapis\.com\/v1(?:alpha|beta)?\/(files\/[a-z0-9-]+)$/

/** Returns the name of the Google file that a URI denotes (`files/abc`), or the value itself. */
const nameOfUri = (value: string): string => googleFileUri.exec(value)?.[1] ?? value

const withStoredUri = (paths: readonly string[]): ReferencePlace[] =>
  paths.map((path): ReferencePlace => ({ kind: 'files', path, isReference: isStoredUri, idOf: nameOfUri }))

/** Returns whether a skill belongs to an account. The type `anthropic` marks Anthropic's public skills; custom ones have another type. */
const isCustomSkill = (_: string, { type }: JsonObject): boolean => type !== 'anthropic'

/** Items whose content the provider may store, and the member that holds inline content. */
const contentOf: Readonly<Record<string, string>> = {
  reasoning: 'encrypted_content',
  image_generation_call: 'result',
}

/** Returns whether an item refers to a stored one: an `item_reference`, whose type may be null or absent, or only an id. */
export const isItemReference = ({ type, role, content }: JsonObject): boolean =>
  type === 'item_reference' || ((type === undefined || type === null) && role === undefined && content === undefined)

/** Members that hold no content. */
const frameMembers: ReadonlySet<string> = new Set(['id', 'type', 'status', 'role'])

/** Returns whether only the provider that created an item has its content. */
export const lacksContent = (item: JsonObject): boolean => {
  if (Object.keys(item).every((member) => frameMembers.has(member))) return true
  const member = typeof item.type === 'string' && Object.hasOwn(contentOf, item.type) ? contentOf[item.type] : undefined
  if (member === undefined) return false
  // Reasoning of open models is sent as plain content.
  const { content } = item
  if (Array.isArray(content) && content.length > 0) return false
  return typeof item[member] !== 'string' || item[member] === ''
}

/** Places in a reference to a prompt template of OpenAI: its id, and the files of its variables. */
const promptPlaces = (prompt: string): ReferencePlace[] => [
  ...of('prompts', `${prompt}.id`),
  ...of('files', `${prompt}.variables.*.file_id`),
]

/** Places of files and containers in a list of tools of the Responses API. */
const responsesTools = (tools: string): ReferencePlace[] => [
  ...of('vectorStores', `${tools}.vector_store_ids[]`),
  ...of('containers', `${tools}.container`, `${tools}.environment.container_id`),
  ...of('skills', `${tools}.container.skills[].skill_id`, `${tools}.environment.skills[].skill_id`),
  ...of(
    'files',
    `${tools}.container.file_ids[]`,
    `${tools}.environment.file_ids[]`,
    `${tools}.input_image_mask.file_id`,
  ),
]

/** Places in items of the Responses API. */
const responsesItems = (items: string): ReferencePlace[] => [
  ...of('containers', `${items}.container_id`, `${items}.environment.container_id`),
  ...of('files', `${items}.content[].file_id`, `${items}.output[].file_id`, `${items}.output.file_id`),
  ...responsesTools(`${items}.tools[]`),
]

/** Places in a part of generateContent, in both spellings. */
const geminiPart = (part: string): ReferencePlace[] =>
  withStoredUri(
    ['.fileData.fileUri', '.fileData.file_uri', '.file_data.fileUri', '.file_data.file_uri'].map((leaf) => part + leaf),
  )

/** Places in a body of generateContent, in both spellings. */
const geminiBody = (root: string): ReferencePlace[] => [
  ...of('caches', `${root}cachedContent`, `${root}cached_content`),
  ...[`${root}contents[].parts[]`, `${root}systemInstruction.parts[]`, `${root}system_instruction.parts[]`].flatMap(
    (part) =>
      ['', '.functionResponse.parts[]', '.function_response.parts[]'].flatMap((inner) => geminiPart(part + inner)),
  ),
  ...of(
    'vectorStores',
    ...['.fileSearch', '.file_search'].flatMap((search) =>
      ['.fileSearchStoreNames[]', '.file_search_store_names[]'].map((leaf) => `${root}tools[]${search}${leaf}`),
    ),
    ...['.vertexAiSearch', '.vertex_ai_search'].flatMap((search) =>
      [
        '.datastore',
        '.engine',
        '.dataStoreSpecs[].dataStore',
        '.data_store_specs[].data_store',
        '.dataStoreSpecs[].data_store',
        '.data_store_specs[].dataStore',
      ].map((leaf) => `${root}tools[].retrieval${search}${leaf}`),
    ),
    // Google calls this endpoint on behalf of the gateway's operator, with a secret that the request names.
    ...['.externalApi', '.external_api'].map((api) => `${root}tools[].retrieval${api}.endpoint`),
    ...['.vertexRagStore', '.vertex_rag_store'].flatMap((store) =>
      [
        '.ragCorpora[]',
        '.rag_corpora[]',
        '.ragResources[].ragCorpus',
        '.rag_resources[].rag_corpus',
        '.ragResources[].rag_corpus',
        '.rag_resources[].ragCorpus',
      ].map((leaf) => `${root}tools[].retrieval${store}${leaf}`),
    ),
  ),
]

/** Places in a block of Anthropic Messages. Documents and tool results hold further blocks. */
const messagesBlock = (block: string): ReferencePlace[] =>
  of('files', `${block}.file_id`, `${block}.source.file_id`, `${block}.source.content[].source.file_id`)

/** Places of objects in S3 in the messages of Converse. Bedrock reads them with the gateway's credentials. */
const converseMedia = (messages: string): ReferencePlace[] =>
  withStoredUri(
    ['', '.toolResult.content[]'].flatMap((inner) =>
      ['image', 'document', 'video', 'audio'].map(
        (kind) => `${messages}.content[]${inner}.${kind}.source.s3Location.uri`,
      ),
    ),
  )

/**
 * All places of references to stored state in requests. The owner check, the documentation's table and the isolation matrix of
 * `npm run torture` are derived from it.
 *
 * `previous_response_id`, and the ids of input items, are looked up where responses are kept (`operations/responses`). All other
 * references are looked up in the record of what an identity received (`Records.owns`).
 */
export const referencePlaces: Readonly<Record<ReferenceScheme, readonly ReferencePlace[]>> = {
  chat: [
    ...of('files', 'messages[].content[].file.file_id', 'messages[].content[].file_id'),
    ...of('responses', 'messages[].audio.id'),
    ...of('voices', 'audio.voice.id'),
  ],
  messages: [
    { kind: 'responses', path: 'thread.previous_message_id', code: 'thread_not_found' },
    ...of('containers', 'container', 'container.id'),
    { kind: 'skills', path: 'container.skills[].skill_id', isReference: isCustomSkill },
    ...messagesBlock('messages[].content[]'),
    ...messagesBlock('messages[].content[].content[]'),
  ],
  responses: [
    ...of('responses', 'previous_response_id'),
    {
      kind: 'responses',
      path: 'input[].id',
      isReference: (_, item) => isItemReference(item) || lacksContent(item),
    },
    ...of('conversations', 'conversation', 'conversation.id'),
    ...promptPlaces('prompt'),
    ...responsesItems('input[]'),
    ...responsesTools('tools[]'),
  ],
  conversations: [
    {
      kind: 'responses',
      path: 'items[].id',
      isReference: (_, item) => isItemReference(item) || lacksContent(item),
    },
    ...responsesItems('items[]'),
  ],
  gemini: [
    ...geminiBody(''),
    // The count endpoint accepts a whole request within its body.
    ...geminiBody('generateContentRequest.'),
    ...geminiBody('generate_content_request.'),
  ],
  caches: geminiBody('').filter(({ kind }) => kind !== 'caches'),
  converse: [
    ...converseMedia('messages[]'),
    // The count endpoint accepts messages within its body.
    ...converseMedia('input.converse.messages[]'),
    // Bedrock bills a guardrail to the account that it belongs to.
    ...of('guardrails', 'guardrailConfig.guardrailIdentifier'),
  ],
  // Requests for secrets of sessions, and the messages of sessions.
  'realtime-sessions': [
    ...['session.prompt', 'response.prompt', 'prompt'].flatMap(promptPlaces),
    ...['session.', 'response.', ''].flatMap((root) => of('voices', `${root}audio.output.voice.id`, `${root}voice.id`)),
  ],
  speech: of('voices', 'voice.id'),
  'image-edits': of('files', 'images[].file_id', 'mask.file_id'),
  images: withStoredUri([
    'instances[].image.gcsUri',
    'instances[].referenceImages[].referenceImage.gcsUri',
    'instances[].mask.image.gcsUri',
    // Written, with the same credentials.
    'parameters.storageUri',
  ]),
  embeddings: [
    ...geminiPart('content.parts[]'),
    ...geminiPart('requests[].content.parts[]'),
    ...withStoredUri(['instances[].image.gcsUri', 'instances[].video.gcsUri']),
  ],
}

/** Further top-level members that gateway and upstream must read the same way, because charges depend on them. */
export const watchedMembers: { readonly [S in ReferenceScheme]?: readonly string[] } = { responses: ['background'] }

/** The id of a stored object in a response: a later request of the same caller may refer to it. */
export interface Received {
  readonly kind: ReferenceKind
  readonly id: string
}

/** Returns the ids among members of a response; undefined if there are none. */
export function receivedReferences(
  kind: ReferenceKind,
  ids: readonly (Json | undefined)[],
): readonly Received[] | undefined {
  const received: Received[] = []
  for (const id of ids) if (typeof id === 'string' && id !== '') received.push({ kind, id })
  return received.length === 0 ? undefined : received
}
