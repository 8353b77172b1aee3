import type { Format, JsonObject } from '../../core/src/formats/ir.ts'
import type { RequestDocument } from './openapi-formats.ts'

const unhinted = { values: [], required: {}, beside: {}, around: [], consumed: [], alone: true } as const

const chat: RequestDocument = {
  ...unhinted,
  file: 'openai.openapi.json',
  root: 'CreateChatCompletionResponse',
  required: { CompletionUsage: { prompt_tokens: 9000, completion_tokens: 9000, total_tokens: 18_000 } },
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
  },
}

const messages: RequestDocument = {
  ...unhinted,
  file: 'anthropic.openapi.yaml',
  root: 'Message',
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
  values: [
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

/** What each format's servers can answer, according to its publisher. */
export const answerDocuments: { readonly [F in Format]: readonly RequestDocument[] } = {
  chat: [chat],
  messages: [messages, { ...messages, root: 'BetaMessage' }],
  gemini: [gemini],
  responses: [responses],
}

/** Requests of clients that want to see everything. */
export const asking: { readonly [F in Format]: JsonObject } = {
  chat: {
    model: 'probed',
    messages: [{ role: 'user', content: 'hello' }],
    logprobs: true,
    top_logprobs: 3,
    reasoning_effort: 'high',
  },
  messages: {
    model: 'probed',
    max_tokens: 50_000,
    messages: [{ role: 'user', content: 'hello' }],
    thinking: { type: 'adaptive' },
  },
  gemini: {
    model: 'probed',
    contents: [{ role: 'user', parts: [{ text: 'hello' }] }],
    generationConfig: { responseLogprobs: true, logprobs: 3, thinkingConfig: { includeThoughts: true } },
  },
  responses: {
    model: 'probed',
    input: [{ role: 'user', content: 'hello' }],
    include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
    reasoning: { effort: 'high', summary: 'detailed' },
  },
}
