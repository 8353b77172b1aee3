import type { Meaning } from './field-arrival.ts'
import { formatMeanings, typeMeanings } from './media-formats.ts'
import type { Exemption } from './verdict.ts'

/** Values of one format that another expresses differently. All others must arrive unchanged. */
export const meanings: readonly Meaning[] = [
  // tool choices
  { at: /tool_choice|mode$/, value: 'required', as: ['any', 'any:'] },
  { at: /mode$/, value: 'ANY', as: ['required', 'any:'] },
  { at: /parallel_tool_calls$/, value: false, as: [true] },
  { at: /disable_parallel_tool_use$/, value: true, as: [false] },
  // reasoning
  { at: /effort$/, value: 'none', as: ['disabled', 0] },
  { at: /includeThoughts$/, value: true, as: ['auto', 'summarized'] },
  { at: /thinking.*\/display$/, value: 'summarized', as: ['auto', true] },
  { at: /thinking.*\/display$/, value: 'omitted', as: ['includeThoughts:', 'summary:'] },
  { at: /summary$/, value: 'auto', as: [true, 'summarized'] },
  // tiers
  { at: /service_?tier(\/type)?$/i, value: 'default', as: ['standard_only', 'standard'] },
  { at: /service_?tier(\/type)?$/i, value: 'standard_only', as: ['default', 'standard'] },
  { at: /service_?tier(\/type)?$/i, value: 'standard', as: ['default', 'standard_only'] },
  // media
  { at: /input_audio\/format$/, value: 'wav', as: ['audio/wav'] },
  { at: /input_audio\/format$/, value: 'mp3', as: ['audio/mpeg'] },
  { at: /mimeType$/, value: 'audio/wav', as: ['wav'] },
  ...formatMeanings('image', 'document', 'video', 'audio'),
  ...typeMeanings(/^image\/|video\/mp4/),
  // log probabilities
  { at: /^\/logprobs$/, value: true, as: ['message.output_text.logprobs'] },
  { at: /responseLogprobs$/, value: true, as: ['message.output_text.logprobs'] },
  { at: /^\/include\/\*$/, value: 'message.output_text.logprobs', as: [true] },
  // results and schemas
  { at: /is_error$/, value: true, as: ['error:', 'error'] },
  { at: /toolResult\/status$/, value: 'error', as: ['error:', true] },
  { at: /nullable$/, value: true, as: ['null'] },
  // the prompt cache
  { at: /prompt_cache_options\/mode$/, value: 'implicit', as: ['ephemeral'] },
  // roles
  { at: /role$/, value: 'assistant', as: ['model'] },
  { at: /role$/, value: 'model', as: ['assistant'] },
  { at: /role$/, value: 'developer', as: ['system', 'system:', 'systemInstruction:'] },
]

const namedById = 'the result refers to its call by id, which arrives; the name is redundant'
const silence = 'means the same as an absent field'

const thoughtless = 'a model without thinking neither thinks nor returns thoughts'
const strictAnyway = 'these formats always enforce a schema'

/** Kept minimal: a test fails for an entry without effect. */
export const exemptions: readonly Exemption[] = [
  {
    from: 'chat',
    at: /^\/stream_options\/include_usage$/,
    why: 'the gateway always requests usage and returns it to clients that requested it',
  },
  { from: 'chat', at: /\/format\[type=text\]\/type$/, why: silence },
  { from: 'chat', at: /^\/modalities\/\*$/, value: 'text', to: ['messages', 'responses', 'converse'], why: silence },
  { from: 'chat', at: /^\/response_format\[type=text\]\/type$/, to: ['messages', 'converse'], why: silence },
  { from: 'chat', at: /\[role=function\]\/name$/, to: ['messages', 'responses', 'converse'], why: namedById },
  { from: 'messages', at: /\/(is_error|disable_parallel_tool_use|strict)$/, value: false, why: silence },
  { from: 'messages', at: /^\/tools\/\*\[(Beta)?Tool\]\/type$/, why: silence },
  {
    from: 'messages',
    at: /^\/cache_control\/(type|ttl)$/,
    value: /^(ephemeral|5m)$/,
    to: ['chat', 'responses'],
    why: 'these formats cache every prompt, unless the request refuses it, for at least five minutes',
  },
  { from: 'messages', at: /^\/speed$/, value: 'standard', why: silence },
  { from: 'messages', at: /^\/service_tier$/, value: 'auto', to: ['gemini', 'converse'], why: silence },
  {
    from: 'messages',
    at: /^\/thinking.*\/(type|display)$/,
    value: /^(disabled|omitted)$/,
    humble: true,
    why: thoughtless,
  },
  { from: 'gemini', at: /./, value: /unspecified$/i, why: 'the zero of an enum: proto JSON treats it as absent' },
  { from: 'gemini', at: /\/(thought|nullable|includeThoughts)$/, value: false, why: silence },
  { from: 'gemini', at: /^\/systemInstruction\/role$/, why: 'instructions have one role, regardless of this field' },
  { from: 'gemini', at: /\/functionResponse\/name$/, to: ['messages', 'responses', 'converse'], why: namedById },
  {
    from: 'gemini',
    at: /\/responseModalities\/\*$/,
    value: 'TEXT',
    to: ['messages', 'responses', 'converse'],
    why: silence,
  },
  ...(['chat', 'responses'] as const).flatMap((from): Exemption[] => [
    { from, at: /^\/prompt_cache_options\/mode$/, value: 'implicit', to: ['chat', 'responses'], why: silence },
    {
      from,
      at: /^\/prompt_cache_options\/mode$/,
      value: 'explicit',
      to: ['messages'],
      why: 'messages caches only up to marks, unless the request asks for more',
    },
  ]),
  {
    from: 'responses',
    at: /^\/include\/\*$/,
    value: 'reasoning.encrypted_content',
    to: ['chat', 'messages', 'gemini', 'converse'],
    why: 'responses of these formats always contain seals',
  },
  { from: 'responses', at: /\/format\[type=text\]\/type$/, why: silence },
  { from: 'responses', at: /\[type=message (Easy)?InputMessage\]\/type$/, why: silence },
  {
    from: 'chat',
    at: /\/json_schema\/strict$/,
    value: true,
    to: ['messages', 'gemini', 'converse'],
    why: strictAnyway,
  },
  {
    from: 'responses',
    at: /^\/text\/format.*\/strict$/,
    value: true,
    to: ['messages', 'gemini', 'converse'],
    why: strictAnyway,
  },
  { from: 'responses', at: /\/strict$/, value: false, to: ['messages', 'gemini', 'converse'], why: silence },
  {
    from: 'responses',
    at: /\[type=tool_search_output\]\/(call_id|execution)$/,
    to: ['chat', 'messages', 'gemini', 'converse'],
    why: 'the item is reported as dropped; its tools are offered with the others',
  },
  {
    from: 'chat',
    at: /^\/reasoning_effort$/,
    value: 'none',
    to: ['messages', 'gemini'],
    humble: true,
    why: thoughtless,
  },
  {
    from: 'responses',
    at: /^\/reasoning\/effort$/,
    value: 'none',
    to: ['messages', 'gemini'],
    humble: true,
    why: thoughtless,
  },
  ...(['chat', 'messages', 'gemini', 'responses'] as const).map(
    (from): Exemption => ({
      from,
      at: /^\/(tool_?choice|toolConfig\/functionCallingConfig\/mode|function_call)/i,
      value: /^auto$/i,
      to: ['converse'],
      why: silence,
    }),
  ),
  ...(['messages', 'gemini', 'responses'] as const).map(
    (from): Exemption => ({
      from,
      at: /(display|summary|includeThoughts)$/,
      value: /^(summarized|auto|true)$/,
      to: ['converse'],
      humble: true,
      why: 'these models show their reasoning whenever they reason',
    }),
  ),
  {
    from: 'messages',
    at: /cache_control\/ttl$/,
    value: '5m',
    to: ['converse'],
    humble: true,
    why: 'is the only lifetime of their caches',
  },
  { from: 'converse', at: /toolResult\/status$/, value: 'success', why: silence },
  { from: 'converse', at: /\/strict$/, value: false, why: silence },
]
