import type { Format } from '@modelgate/core'
import type { Meaning } from './field-arrival.ts'
import { formatMeanings, typeMeanings } from './media-formats.ts'
import type { Exemption } from './verdict.ts'

const finish =
  /^\/(choices\/\*\/finish_reason|stop_reason|stopReason|candidates\/\*\/finishReason|incomplete_details\/reason|status)$/
const tier = /service_?tier(\/type)?$/i
const blocked = ['content_filter', 'refusal', 'SAFETY', 'content_filtered']
const length = ['length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens']
const done = ['stop', 'end_turn', 'STOP', 'completed', 'status:']
const calls = ['tool_calls', 'tool_use', 'STOP', 'completed']
/** A failed response reaches the client as an error. Ollama's is a text. */
const fault = ['message:', 'error:']

const endings = (values: readonly string[], as: readonly string[]): Meaning[] =>
  values.map((value) => ({ at: finish, value, as }))

/** Values of responses that another format expresses differently. All others must arrive unchanged. */
export const answerMeanings: readonly Meaning[] = [
  ...endings(['stop', 'end_turn', 'stop_sequence', 'STOP', 'completed'], done),
  ...endings(['length', 'max_tokens', 'model_context_window_exceeded', 'MAX_TOKENS', 'max_output_tokens'], length),
  ...endings(['tool_calls', 'function_call', 'tool_use'], calls),
  ...endings(['content_filter', 'refusal', 'SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'], blocked),
  ...endings(['content_filtered', 'guardrail_intervened'], blocked),
  ...endings(['malformed_model_output', 'malformed_tool_use'], fault),
  ...endings(['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION', 'IMAGE_OTHER', 'ESCALATION'], blocked),
  ...endings(['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'], fault),
  ...endings(['MISSING_THOUGHT_SIGNATURE', 'failed'], fault),
  { at: tier, value: 'default', as: ['standard'] },
  { at: tier, value: 'standard', as: ['default'] },
  { at: /TokensDetails\/\*\/modality$/, value: 'AUDIO', as: ['audio_tokens:'] },
  { at: /TokensDetails\/\*\/modality$/, value: 'IMAGE', as: ['image_tokens:'] },
  { at: /\/thought$/, value: true, as: ['thinking', 'thinking:', 'reasoning_content:', 'reasoning', 'text:'] },
  ...formatMeanings('image', 'document', 'video', 'audio'),
  ...typeMeanings(/^image\/png/),
]

const others = (own: Format): Format[] =>
  (['chat', 'messages', 'gemini', 'responses', 'converse', 'ollama'] as const).filter((format) => format !== own)
const frame = 'names the type of the body, and the client gets its own'
const derived = 'follows from the numbers next to it, which arrive'
const silence = 'means the same as an absent field'
const timeless = 'these formats have no timestamp'
const spelled = 'the bytes are those of the token, which arrives'
const itemName = 'identifies the item for its own server; results refer to calls by `call_id`, which arrives'
const itemState =
  'an item of a finished response is finished; the finish reason of the response reports a truncated one'
const cited = /cit(ed|ation|es)/
const nameless = 'Ollama’s responses have no ids'
const imageType = 'the beginning of an image shows its type'
const dated = 'is written as a date'

/** Kept minimal: a test fails for an entry without effect. */
export const answerExemptions: readonly Exemption[] = [
  { from: 'chat', at: /^\/object$/, to: others('chat'), why: frame },
  { from: 'chat', at: /^\/choices\/\*\/(index|message\/role)$/, to: others('chat'), why: frame },
  { from: 'chat', at: /^\/created$/, to: ['messages', 'gemini', 'converse'], why: timeless },
  { from: 'chat', at: /^\/created$/, to: ['ollama'], why: dated },
  { from: 'chat', at: /^\/id$/, to: ['ollama'], why: nameless },
  {
    from: 'chat',
    at: /\/annotations\/\*\/(type|url_citation\/\w+)$/,
    to: ['ollama'],
    reportedAt: { path: '/choices/0/message/content', detail: cited },
    why: 'a citation is reported with its text',
  },
  { from: 'chat', at: /^\/usage\/(total_tokens|.*\/text_tokens)$/, why: derived },
  { from: 'chat', at: /\/bytes\/\*$/, to: ['gemini'], why: spelled },
  {
    from: 'chat',
    at: /\/annotations\/\*\/url_citation\/(start|end)_index$/,
    to: ['messages', 'converse'],
    reportedAt: { path: '/choices/0/message/content', detail: cited },
    why: 'a citation is dropped with the text that it supports',
  },
  { from: 'messages', at: /^\/(type|role)$/, to: others('messages'), why: frame },
  { from: 'messages', at: /^\/id$/, to: ['ollama'], why: nameless },
  { from: 'gemini', at: /^\/responseId$/, to: ['ollama'], why: nameless },
  { from: 'gemini', at: /\/inlineData\/mimeType$/, to: ['ollama'], why: imageType },
  { from: 'gemini', at: /./, value: /unspecified$/i, why: 'the zero of an enum: proto JSON treats it as absent' },
  { from: 'gemini', at: /\/thought$/, value: false, why: silence },
  { from: 'gemini', at: /^\/candidates\/\*\/(index|content\/role)$/, to: others('gemini'), why: frame },
  { from: 'gemini', at: /\/logProbabilitySum$/, why: derived },
  { from: 'gemini', at: /^\/usageMetadata\/totalTokenCount$/, to: others('gemini'), why: derived },
  {
    from: 'gemini',
    at: /^\/usageMetadata\/responseTokenCount$/,
    to: others('gemini'),
    why: 'an older name of candidatesTokenCount',
  },
  {
    from: 'gemini',
    at: /TokensDetails\/\*\/modality$/,
    value: 'TEXT',
    to: others('gemini'),
    why: 'text is the remainder of the total',
  },
  {
    from: 'gemini',
    at: /\/citationSources\/\*\/(license|startIndex|endIndex|uri)$/,
    to: others('gemini'),
    reportedAt: { path: '/candidates/0/content/parts/0', detail: cited },
    why: 'a citation is dropped with the text that it supports',
  },
  { from: 'responses', at: /^\/object$/, to: others('responses'), why: frame },
  { from: 'responses', at: /^\/created_at$/, to: ['messages', 'gemini', 'converse'], why: timeless },
  { from: 'responses', at: /^\/created_at$/, to: ['ollama'], why: dated },
  { from: 'responses', at: /^\/id$/, to: ['ollama'], why: nameless },
  { from: 'responses', at: /\[type=image_generation_call\]\/id$/, to: ['ollama'], why: itemName },
  { from: 'responses', at: /\[type=image_generation_call\]\/status$/, to: ['ollama'], why: itemState },
  { from: 'responses', at: /^\/completed_at$/, to: others('responses'), why: 'is the creation time of the response' },
  { from: 'responses', at: /^\/output_text$/, why: 'added by SDKs: it repeats the texts of the output' },
  {
    from: 'responses',
    at: /^\/output\/\*\[type=(message|function_call|custom_tool_call|reasoning)\]\/id$/,
    to: others('responses'),
    why: itemName,
  },
  { from: 'responses', at: /^\/output\/\*\[type=(message|function_call|reasoning)\]\/status$/, why: itemState },
  ...(['chat', 'messages', 'gemini', 'responses'] as const).map(
    (from): Exemption => ({
      from,
      at: /^\/(id|responseId|model(\[string\])?|modelVersion)$/,
      to: ['converse'],
      why: 'a response of Converse names neither itself nor its model',
    }),
  ),
  { from: 'converse', at: /^\/output\/message\/role$/, to: others('converse'), why: frame },
  {
    from: 'converse',
    at: /\/audio\/format$/,
    to: ['chat'],
    why: 'the audio of a chat response has the format that the request names',
  },
  { from: 'converse', at: /^\/usage\/totalTokens$/, to: ['messages', 'ollama'], why: derived },
  { from: 'converse', at: /\/image\/format$/, to: ['ollama'], why: imageType },
  {
    from: 'converse',
    at: /^\/usage\/cacheDetails\/\*\/ttl$/,
    to: others('converse'),
    why: 'names the number next to it, which arrives or is reported',
  },
  {
    from: 'converse',
    at: /^\/usage\/cacheDetails\/\*\/inputTokens$/,
    to: ['messages'],
    why: 'five minutes are the remainder of the total',
  },
]
