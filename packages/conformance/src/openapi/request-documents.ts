import type { SharedFormat } from '@modelgate/core'
import type { JsonObject } from '@modelgate/core/test-support'
import { type Json, listOf, objectOf } from '../base/json.ts'
import { bedrockModel, readSchemas } from './schema.ts'
import { schemaWith, type ValueRule } from './values.ts'
import type { Walk } from './walk.ts'

/** Without the schemas, which are loaded on demand. */
export type RequestDocument = Omit<Walk, 'schemas'> & { readonly file: string }

const schemaRule = (at: RegExp): ValueRule => ({ at, whole: true, give: (token) => [schemaWith(token)] })
const names = ['lookup', 'search']

const chatTool = (name: string): JsonObject => ({ type: 'function', function: { name } })
const chatCalls: JsonObject = {
  role: 'assistant',
  content: null,
  tool_calls: ['call_a', 'call_b'].map((id) => ({
    id,
    type: 'function',
    function: { name: 'lookup', arguments: '{}' },
  })),
}
/** Inserts items after the first one, before the tested one. */
const before =
  (key: string, ...items: Json[]) =>
  (body: JsonObject): JsonObject => {
    const [first = null, ...rest] = listOf(body[key])
    return { ...body, [key]: [first, ...items, ...rest] }
  }
/** Separates neighbours of one role, which would be merged and would move the tested value. */
const between =
  (key: string, item: JsonObject) =>
  (body: JsonObject): JsonObject => {
    const [, second] = listOf(body[key])
    return objectOf(second).role === 'user' ? before(key, item)(body) : body
  }
const beside =
  (more: JsonObject) =>
  (body: JsonObject): JsonObject => ({ ...more, ...body })

const chat: RequestDocument = {
  file: 'openai.openapi.json',
  root: 'CreateChatCompletionRequest',
  smallest: { model: 'probed', messages: [{ role: 'user', content: 'hello' }] },
  consumed: ['model', 'stream'],
  values: [
    schemaRule(/\/(parameters|schema)$/),
    { at: /^\/logit_bias$/, give: () => [{ '50256': -37 }], whole: true },
    { at: /^\/n$/, give: () => [3] },
    { at: /\/image_url\/url$/, give: (t) => [`https://files.example/${t}.png`, `data:image/png;base64,${t}`] },
    { at: /\/file_data$/, give: (t) => [`data:application/pdf;base64,${t}`] },
    { at: /^\/tool_choice.*\/name$/, give: () => names },
    { at: /^\/tool_choice.*allowed_tools\/tools\/\*/, give: () => names.map(chatTool), whole: true },
    { at: /\[role=tool\]\/tool_call_id$/, give: () => ['call_a', 'call_b'] },
    { at: /^\/function_call.*\/name$/, give: () => names },
    { at: /\[role=function\]\/name$/, give: () => ['lookup'] },
  ],
  required: {},
  beside: { ChatCompletionRequestAssistantMessage: { name: { content: 'well' }, role: { content: 'well' } } },
  around: [
    { at: /^\/(tool_choice|parallel_tool_calls)/, add: beside({ tools: names.map(chatTool) }) },
    { at: /^\/function_call/, add: beside({ functions: names.map((name) => ({ name })) }) },
    { at: /^\/top_logprobs/, add: beside({ logprobs: true }) },
    { at: /^\/stream_options/, add: beside({ stream: true }) },
    { at: /^\/audio/, add: beside({ modalities: ['text', 'audio'] }) },
    { at: /^\/modalities/, add: beside({ audio: { voice: 'alloy', format: 'wav' } }) },
    { at: /\[role=tool\]/, add: before('messages', chatCalls) },
    {
      at: /\[role=function\]/,
      add: before('messages', { role: 'assistant', content: null, function_call: { name: 'lookup', arguments: '{}' } }),
    },
    { at: /^\/messages/, add: between('messages', { role: 'assistant', content: 'well' }) },
  ],
}

const messagesCall = (id: string): JsonObject => ({ type: 'tool_use', id, name: 'lookup', input: {} })
const messages: RequestDocument = {
  file: 'anthropic.openapi.yaml',
  root: 'CreateMessageParams',
  smallest: { model: 'probed', max_tokens: 50_000, messages: [{ role: 'user', content: 'hello' }] },
  consumed: ['model', 'stream'],
  values: [
    schemaRule(/\/(input_schema|schema)(\[.*\])?$/),
    { at: /^\/tool_choice.*\/name$/, give: () => names },
    { at: /\[type=tool_result\]\/tool_use_id$/, give: () => ['toolu_a', 'toolu_b'] },
  ],
  required: {},
  beside: {},
  around: [
    { at: /^\/tool_choice/, add: beside({ tools: names.map((name) => ({ name, input_schema: { type: 'object' } })) }) },
    {
      at: /\[type=tool_result\]/,
      add: before('messages', { role: 'assistant', content: ['toolu_a', 'toolu_b'].map(messagesCall) }),
    },
    { at: /^\/messages/, add: between('messages', { role: 'assistant', content: 'well' }) },
  ],
}

const geminiCall = (id: string): JsonObject => ({ functionCall: { id, name: 'lookup', args: {} } })
const mediaTypes = ['image/png', 'application/pdf', 'audio/wav', 'video/mp4', 'text/plain']
const text = { text: 'well' }
const seen = { fileData: { mimeType: 'video/mp4', fileUri: 'https://files.example/video.mp4' } }
const gemini: RequestDocument = {
  file: 'google-generativelanguage.v1beta.openapi.json',
  root: 'GenerateContentRequest',
  smallest: { model: 'probed', contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
  consumed: ['model'],
  values: [
    schemaRule(/(JsonSchema|\/text\/schema)$/),
    { at: /\/(mimeType)$/, give: () => mediaTypes },
    { at: /^\/contents\/\*\/role$/, give: () => ['user', 'model'] },
    { at: /^\/systemInstruction\/role$/, give: () => ['user', 'system'] },
    { at: /\/allowedFunctionNames\/\*$/, give: () => names },
    { at: /\/functionResponse\/id$/, give: () => ['call_b'] },
    { at: /\/functionResponse\/name$/, give: () => ['lookup'] },
    { at: /\/candidateCount$/, give: () => [3] },
    { at: /\/logprobs$/, give: () => [7] },
    { at: /\/topK$/, give: () => [37] },
    { at: /\/(responseSchema|parameters|response)(\/.*)?\/default$/, give: (t) => [t] },
  ],
  required: {
    Content: { role: 'user', parts: [text] },
    FunctionCall: { name: 'lookup' },
    FunctionResponse: { id: 'call_a', name: 'lookup', response: { ok: 'yes' } },
    Blob: { mimeType: 'image/png', data: 'aGVsbG9o' },
    FunctionResponseBlob: { mimeType: 'image/png', data: 'aGVsbG9o' },
    FileData: { mimeType: 'image/png', fileUri: 'https://files.example/a' },
    FunctionDeclaration: { name: 'lookup' },
    FunctionCallingConfig: { mode: 'ANY' },
    ExecutableCode: { code: '1', language: 'PYTHON' },
    CodeExecutionResult: { outcome: 'OUTCOME_OK' },
    Schema: { type: 'OBJECT' },
  },
  beside: {
    Part: {
      thought: text,
      thoughtSignature: text,
      partMetadata: text,
      videoMetadata: seen,
      mediaResolution: seen,
      mediaProcessing: seen,
    },
    GenerationConfig: {
      logprobs: { responseLogprobs: true },
      responseSchema: { responseMimeType: 'application/json' },
      responseJsonSchema: { responseMimeType: 'application/json' },
    },
  },
  around: [
    {
      at: /^\/toolConfig/,
      add: beside({ tools: [{ functionDeclarations: names.map((name) => ({ name })) }] }),
    },
    {
      at: /^\/contents.*\/functionResponse/,
      add: before('contents', { role: 'model', parts: ['call_a', 'call_b'].map(geminiCall) }),
    },
    {
      at: /^\/contents.*\/(functionCall|executableCode|codeExecutionResult|toolCall|toolResponse|thought)/,
      add: asModel,
    },
    { at: /^\/contents/, add: between('contents', { role: 'model', parts: [text] }) },
  ],
}

/** Content that only the model produces belongs in its own turn. */
function asModel(body: JsonObject): JsonObject {
  const contents = listOf(body.contents)
  const last = objectOf(contents.at(-1))
  return { ...body, contents: [...contents.slice(0, -1), { ...last, role: 'model' }] }
}

const responsesCall = (type: string, id: string): JsonObject =>
  type === 'function_call'
    ? { type, call_id: id, name: 'lookup', arguments: '{}' }
    : { type, call_id: id, name: 'lookup', input: '' }
const responses: RequestDocument = {
  file: 'openai.openapi.json',
  root: 'CreateResponse',
  smallest: { model: 'probed', input: [{ role: 'user', content: 'hello' }] },
  consumed: ['model', 'stream'],
  values: [
    schemaRule(/\/(parameters|schema|input_schema)(\[.*\])?$/),
    { at: /\/image_url$/, give: (t) => [`https://files.example/${t}.png`, `data:image/png;base64,${t}`] },
    { at: /\/file_data$/, give: (t) => [`data:application/pdf;base64,${t}`] },
    { at: /^\/tool_choice.*\/name$/, give: () => names },
    { at: /^\/tool_choice.*\/tools\/\*/, give: () => names.map((name) => ({ type: 'function', name })), whole: true },
    { at: /\[type=(function_call_output|custom_tool_call_output)\]\/call_id$/, give: () => ['call_a', 'call_b'] },
  ],
  required: { FunctionCallOutputItemParam: { call_id: 'call_a' } },
  beside: {},
  around: [
    {
      at: /^\/(tool_choice|parallel_tool_calls)/,
      add: beside({
        tools: names.map((name) => ({ type: 'function', name, parameters: { type: 'object' }, strict: false })),
      }),
    },
    { at: /^\/top_logprobs/, add: beside({ include: ['message.output_text.logprobs'] }) },
    { at: /^\/stream_options/, add: beside({ stream: true }) },
    {
      at: /\[type=function_call_output\]/,
      add: before('input', ...['call_a', 'call_b'].map((id) => responsesCall('function_call', id))),
    },
    {
      at: /\[type=custom_tool_call_output\]/,
      add: before('input', ...['call_a', 'call_b'].map((id) => responsesCall('custom_tool_call', id))),
    },
    { at: /^\/input\[array\]/, add: between('input', { role: 'assistant', content: 'well' }) },
  ],
}

const converseCalls: JsonObject = {
  role: 'assistant',
  content: ['call_a', 'call_b'].map((toolUseId) => ({ toolUse: { toolUseId, name: 'lookup', input: {} } })),
}
const converseTool = (name: string): JsonObject => ({ toolSpec: { name, inputSchema: { json: { type: 'object' } } } })
/** Gives the tested message the role in which its block may stand. */
const spokenBy =
  (role: string) =>
  (body: JsonObject): JsonObject => {
    const [first = null, tested = null, ...rest] = listOf(body.messages)
    return tested === null ? body : { ...body, messages: [first, { ...objectOf(tested), role }, ...rest] }
  }
const converse: RequestDocument = {
  file: bedrockModel,
  root: 'ConverseRequest',
  smallest: { model: 'probed', messages: [{ role: 'user', content: [{ text: 'hello' }] }] },
  consumed: ['modelId'],
  values: [
    schemaRule(/\/inputSchema.*\/json$/),
    { at: /\/jsonSchema\/schema$/, give: (t) => [JSON.stringify(schemaWith(t))] },
    { at: /\/s3Location\/uri$/, give: (t) => [`s3://bucket/${t}`] },
    { at: /\/additionalModelResponseFieldPaths\/\*$/, give: (t) => [`/${t}`] },
    { at: /\/toolChoice.*\/name$/, give: () => names },
    { at: /\/tool(Addition|Removal)\/tool\/name$/, give: () => names },
    { at: /\/tool(Addition|Removal)\/tool\/type$/, give: () => ['tool_reference'] },
    { at: /\/toolResult\/toolUseId$/, give: () => ['call_a', 'call_b'] },
  ],
  required: {
    Message: { role: 'user', content: [{ text: 'well' }] },
    CitationsContentBlock: { content: [{ text: 'well' }] },
    ToolResultBlock: { content: [{ text: 'well' }] },
    OutputFormat: { structure: { jsonSchema: { schema: '{"type":"object"}' } } },
  },
  beside: {},
  around: [
    {
      at: /^\/toolConfig\/toolChoice/,
      add: (body) => ({ ...body, toolConfig: { ...objectOf(body.toolConfig), tools: names.map(converseTool) } }),
    },
    { at: /ContentBlock\.(toolUse|reasoningContent|citationsContent)\]/, add: spokenBy('assistant') },
    { at: /\.tool(Addition|Removal)\]/, add: spokenBy('system') },
    { at: /\.toolResult\]/, add: before('messages', converseCalls) },
    { at: /\.tool(Addition|Removal)\]/, add: beside({ toolConfig: { tools: names.map(converseTool) } }) },
    { at: /^\/messages/, add: between('messages', { role: 'assistant', content: [{ text: 'well' }] }) },
  ],
}

/** Requests of each format's clients, according to its publisher. */
export const requestDocuments: { readonly [F in SharedFormat]: readonly RequestDocument[] } = {
  chat: [chat],
  messages: [messages, { ...messages, root: 'BetaCreateMessageParams' }],
  gemini: [gemini],
  responses: [responses],
  converse: [converse],
}

export const walkOf = (document: RequestDocument): Walk => ({ ...document, schemas: readSchemas(document.file) })
