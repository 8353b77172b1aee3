import type { SharedFormat } from '@modelgate/core'
import type { JsonObject } from '@modelgate/core/test-support'
import { listOf, objectOf } from '../base/json.ts'
import type { RequestDocument } from './request-documents.ts'
import { bedrockModel } from './schema.ts'

const unhinted = { values: [], required: {}, beside: {}, around: [], consumed: [] } as const

/** Changes the first choice of a body. */
const inChoice =
  (key: 'choices' | 'candidates', change: (choice: JsonObject) => JsonObject) =>
  (body: JsonObject): JsonObject => ({ ...body, [key]: listOf(body[key]).map((choice) => change(objectOf(choice))) })
const chatCall: JsonObject = { id: 'call_a', type: 'function', function: { name: 'lookup', arguments: '{}' } }
const counted = { prompt_tokens: 9000, completion_tokens: 9000 }

const chat: RequestDocument = {
  ...unhinted,
  file: 'openai.openapi.json',
  root: 'CreateChatCompletionResponse',
  alone: true,
  values: [
    { at: /^\/choices\/\*\/index$/, give: () => [0] },
    { at: /^\/usage\/total_tokens$/, give: () => [18_000] },
    { at: /\/start_index$/, give: () => [1] },
    { at: /\/end_index$/, give: () => [3] },
  ],
  required: {
    CompletionUsage: { ...counted, total_tokens: 18_000 },
    ChatCompletionResponseMessage: { content: 'well', refusal: null },
  },
  around: [
    {
      at: /^\/choices\/\*\/(?!logprobs)/,
      add: inChoice('choices', (choice) => ({ ...choice, logprobs: null })),
    },
    {
      at: /^\/choices\/\*\/finish_reason$/,
      add: inChoice('choices', (choice) =>
        /call/.test(String(choice.finish_reason))
          ? { ...choice, message: { role: 'assistant', content: null, tool_calls: [chatCall] } }
          : choice,
      ),
    },
    {
      at: /^\/usage\/(prompt|completion)_tokens$/,
      add: ({ usage, ...body }) => {
        const { prompt_tokens: read, completion_tokens: written, ...rest } = objectOf(usage)
        const total = Number(read) + Number(written)
        return usage === undefined ? body : { ...body, usage: { ...objectOf(usage), ...rest, total_tokens: total } }
      },
    },
  ],
  smallest: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_790_000_000,
    model: 'answered',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'well', refusal: null },
        finish_reason: 'stop',
        logprobs: null,
      },
    ],
    usage: { ...counted, total_tokens: 18_000 },
  },
}

const messages: RequestDocument = {
  ...unhinted,
  file: 'anthropic.openapi.yaml',
  root: 'Message',
  around: [
    {
      at: /^\/stop_reason$/,
      add: (body) =>
        body.stop_reason === 'tool_use'
          ? { ...body, content: [{ type: 'tool_use', id: 'toolu_a', name: 'lookup', input: {} }] }
          : body,
    },
  ],
  smallest: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'answered',
    content: [{ type: 'text', text: 'well' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 13 },
  },
}

const gemini: RequestDocument = {
  ...unhinted,
  file: 'google-generativelanguage.v1beta.openapi.json',
  root: 'GenerateContentResponse',
  alone: true,
  values: [
    { at: /^\/candidates\/\*\/index$/, give: () => [0] },
    { at: /\/startIndex$/, give: () => [1] },
    { at: /\/endIndex$/, give: () => [3] },
    { at: /\/mimeType$/, give: () => ['image/png', 'application/pdf'] },
    { at: /\/role$/, give: () => ['model'] },
  ],
  required: {
    Candidate: { index: 0, content: { role: 'model', parts: [{ text: 'well' }] }, finishReason: 'STOP' },
    Content: { role: 'model', parts: [{ text: 'well' }] },
    FunctionCall: { name: 'lookup' },
    FunctionResponse: { id: 'call_a', name: 'lookup', response: { ok: 'yes' } },
    Blob: { mimeType: 'image/png', data: 'aGVsbG9o' },
    FunctionResponseBlob: { mimeType: 'image/png', data: 'aGVsbG9o' },
    FileData: { mimeType: 'image/png', fileUri: 'https://files.example/a' },
    ExecutableCode: { code: '1', language: 'PYTHON' },
    CodeExecutionResult: { outcome: 'OUTCOME_OK' },
    ModalityTokenCount: { modality: 'VIDEO', tokenCount: 40 },
    UsageMetadata: { promptTokenCount: 9000, candidatesTokenCount: 9000, totalTokenCount: 18_000 },
    LogprobsResult: {
      chosenCandidates: [{ token: 'well', tokenId: 1, logProbability: -0.5 }],
      topCandidates: [{ candidates: [] }],
    },
  },
  beside: {
    Part: {
      thought: { text: 'well' },
      thoughtSignature: { text: 'well' },
      partMetadata: { text: 'well' },
      videoMetadata: { text: 'well' },
      mediaResolution: { text: 'well' },
      mediaProcessing: { text: 'well' },
    },
  },
  smallest: {
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'well' }] }, finishReason: 'STOP' }],
    usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 13, totalTokenCount: 24 },
    modelVersion: 'answered',
    responseId: 'answer-1',
  },
}

const responses: RequestDocument = {
  ...unhinted,
  file: 'openai.openapi.json',
  root: 'Response',
  alone: true,
  values: [
    { at: /^\/created_at$/, give: () => [1_790_000_123] },
    { at: /\/start_index$/, give: () => [1] },
    { at: /\/end_index$/, give: () => [3] },
  ],
  smallest: {
    id: 'resp_1',
    object: 'response',
    created_at: 1_790_000_000,
    status: 'completed',
    model: 'answered',
    output: [
      {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'well', annotations: [] }],
      },
    ],
    usage: {
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 13,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 24,
    },
  },
  // Fields that repeat the request.
  consumed: [
    'tools',
    'tool_choice',
    'instructions',
    'text',
    'reasoning',
    'prompt',
    'metadata',
    'temperature',
    'top_p',
    'top_logprobs',
    'user',
    'safety_identifier',
    'prompt_cache_key',
    'prompt_cache_retention',
    'prompt_cache_options',
    'previous_response_id',
    'background',
    'max_tool_calls',
    'truncation',
    'parallel_tool_calls',
    'conversation',
    'max_output_tokens',
  ],
}

const converse: RequestDocument = {
  ...unhinted,
  file: bedrockModel,
  root: 'ConverseResponse',
  alone: true,
  values: [
    { at: /\/role$/, give: () => ['assistant'] },
    { at: /^\/usage\/totalTokens$/, give: () => [18_000] },
    { at: /\/start$/, give: () => [1] },
    { at: /\/end$/, give: () => [3] },
  ],
  required: { TokenUsage: { inputTokens: 9000, outputTokens: 9000, totalTokens: 18_000 } },
  around: [
    {
      at: /^\/stopReason$/,
      add: (body) =>
        body.stopReason === 'tool_use'
          ? {
              ...body,
              output: {
                message: {
                  role: 'assistant',
                  content: [{ toolUse: { toolUseId: 'call_a', name: 'lookup', input: {} } }],
                },
              },
            }
          : body,
    },
  ],
  smallest: {
    output: { message: { role: 'assistant', content: [{ text: 'well' }] } },
    stopReason: 'end_turn',
    usage: { inputTokens: 11, outputTokens: 13, totalTokens: 24 },
    metrics: { latencyMs: 7 },
  },
}

/** Responses of each format's servers, according to its publisher. */
export const answerDocuments: { readonly [F in SharedFormat]: readonly RequestDocument[] } = {
  chat: [chat],
  messages: [messages, { ...messages, root: 'BetaMessage' }],
  gemini: [gemini],
  responses: [responses],
  converse: [converse],
}

/** Fields that are also checked in streams, which have other places and times for them than unstreamed responses. */
export const streamFields: { readonly [F in SharedFormat]: RegExp } = {
  chat: /^\/(usage|service_tier|choices\/\*\/(finish_reason|logprobs|message\/annotations))/,
  messages: /^\/(usage|stop_|content\/\*\[type=text\]\/citations)/,
  gemini:
    /^\/(usageMetadata|promptFeedback|candidates\/\*\/(finish|logprobsResult|groundingMetadata|citationMetadata))/,
  responses:
    /^\/(usage|service_tier|status|incomplete_details|output\/\*\[type=message\]\/content\/\*\[type=output_text\]\/(annotations|logprobs))/,
  converse: /^\/(usage|stopReason|additionalModelResponseFields|trace|performanceConfig|serviceTier)/,
}
