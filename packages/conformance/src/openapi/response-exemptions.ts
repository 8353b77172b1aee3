import type { Format } from '@modelgate/core'
import type { Meaning } from './field-arrival.ts'
import type { Exemption } from './verdict.ts'

const finish =
  /^\/(choices\/\*\/finish_reason|stop_reason|candidates\/\*\/finishReason|incomplete_details\/reason|status)$/
const tier = /service_?tier$/i
const blocked = ['content_filter', 'refusal', 'SAFETY']
const length = ['length', 'max_tokens', 'MAX_TOKENS', 'max_output_tokens']
const done = ['stop', 'end_turn', 'STOP', 'completed', 'status:']
const calls = ['tool_calls', 'tool_use', 'STOP', 'completed']
/** An answer that ended in an error reaches the client as an error. */
const fault = ['message:']

const endings = (values: readonly string[], as: readonly string[]): Meaning[] =>
  values.map((value) => ({ at: finish, value, as }))

/** Values of one format's answers that another expresses differently. All others have to arrive unchanged. */
export const answerMeanings: readonly Meaning[] = [
  ...endings(['stop', 'end_turn', 'stop_sequence', 'STOP', 'completed'], done),
  ...endings(['length', 'model_context_window_exceeded', 'MAX_TOKENS', 'max_output_tokens'], length),
  ...endings(['tool_calls', 'function_call', 'tool_use'], calls),
  ...endings(['content_filter', 'refusal', 'SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'], blocked),
  ...endings(['IMAGE_SAFETY', 'IMAGE_PROHIBITED_CONTENT', 'IMAGE_RECITATION', 'IMAGE_OTHER', 'ESCALATION'], blocked),
  ...endings(['MALFORMED_FUNCTION_CALL', 'MALFORMED_RESPONSE', 'UNEXPECTED_TOOL_CALL', 'TOO_MANY_TOOL_CALLS'], fault),
  ...endings(['MISSING_THOUGHT_SIGNATURE', 'failed'], fault),
  { at: tier, value: 'default', as: ['standard'] },
  { at: tier, value: 'standard', as: ['default'] },
  { at: /TokensDetails\/\*\/modality$/, value: 'AUDIO', as: ['audio_tokens:'] },
  { at: /TokensDetails\/\*\/modality$/, value: 'IMAGE', as: ['image_tokens:'] },
  { at: /\/thought$/, value: true, as: ['thinking', 'reasoning_content:', 'reasoning'] },
]

const others = (own: Format): Format[] =>
  (['chat', 'messages', 'gemini', 'responses'] as const).filter((format) => format !== own)
const frame = 'says what kind of body it is, and the client gets one of its own'
const derived = 'follows from the numbers beside it, which arrive'
const silence = 'says the same as no field'
const timeless = 'these formats tell no time'
const spelled = 'the bytes are those of the token, which arrives'
const itemName = 'names the item to its own server; calls are answered by their `call_id`, which arrives'
const itemState = 'an item of a finished answer is finished; one that broke off is told by the ending of the answer'
const cited = /cit(ed|ation|es)/

/** Kept minimal: a test fails for an entry without effect. */
export const answerExemptions: readonly Exemption[] = [
  { from: 'chat', at: /^\/object$/, to: others('chat'), why: frame },
  { from: 'chat', at: /^\/choices\/\*\/(index|message\/role)$/, to: others('chat'), why: frame },
  { from: 'chat', at: /^\/created$/, to: ['messages', 'gemini'], why: timeless },
  { from: 'chat', at: /^\/usage\/(total_tokens|.*\/text_tokens)$/, why: derived },
  { from: 'chat', at: /\/bytes\/\*$/, to: ['gemini'], why: spelled },
  {
    from: 'chat',
    at: /\/annotations\/\*\/url_citation\/(start|end)_index$/,
    to: ['messages'],
    told: { path: '/choices/0/message/content', detail: cited },
    why: 'a citation is lost with the text that it supports',
  },
  { from: 'messages', at: /^\/(type|role)$/, to: others('messages'), why: frame },
  { from: 'gemini', at: /./, value: /unspecified$/i, why: 'the zero of an enum: proto JSON takes it for absence' },
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
    why: 'text is what is left of the total',
  },
  {
    from: 'gemini',
    at: /\/citationSources\/\*\/(license|startIndex|endIndex)$/,
    to: others('gemini'),
    told: { path: '/candidates/0/content/parts/0', detail: cited },
    why: 'a citation is lost with the text that it supports',
  },
  { from: 'responses', at: /^\/object$/, to: others('responses'), why: frame },
  { from: 'responses', at: /^\/created_at$/, to: ['messages', 'gemini'], why: timeless },
  { from: 'responses', at: /^\/completed_at$/, to: others('responses'), why: 'is the time at which the answer came' },
  { from: 'responses', at: /^\/output_text$/, why: 'SDKs add it: the texts of the output once more' },
  {
    from: 'responses',
    at: /^\/output\/\*\[type=(message|function_call|custom_tool_call|reasoning)\]\/id$/,
    to: others('responses'),
    why: itemName,
  },
  { from: 'responses', at: /^\/output\/\*\[type=(message|function_call|reasoning)\]\/status$/, why: itemState },
]
