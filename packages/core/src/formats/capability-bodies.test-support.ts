import type { JsonObject } from '../base/json/json.ts'
import type { Format } from '../base/names.ts'
import type { RequestFeature, ResponseFeature } from './capabilities.ts'

/**
 * Bodies for features that only one side of a format supports: its clients, but not requests to upstreams; or its
 * upstreams, but not responses to clients. Gemini issued all seals.
 */
type Bodies<Feature extends string> = { readonly [F in Format]?: { readonly [K in Feature]?: JsonObject } }

const question = { role: 'user', content: 'Hello.' }
const next = { role: 'user', content: 'And then?' }

const messagesConversation = (...thinking: JsonObject[]): JsonObject => ({
  model: 'm',
  max_tokens: 1000,
  messages: [question, { role: 'assistant', content: [...thinking, { type: 'text', text: 'So.' }] }, next],
})
const messagesCall: JsonObject = {
  model: 'm',
  max_tokens: 1000,
  messages: [
    { role: 'user', content: 'What is the weather?' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: '', signature: 'mgs1.gemini.@call:call_1:c2VhbA==' },
        { type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'Rain.' }] },
  ],
}
const responsesCall: JsonObject = {
  model: 'm',
  input: [
    { role: 'user', content: 'What is the weather?' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'mgs1.gemini.@call:call_1:c2VhbA==' },
    { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'Rain.' },
  ],
}

const converse = (messages: JsonObject[], more: JsonObject = {}): JsonObject => ({ model: 'm', messages, ...more })
const asked: JsonObject = { role: 'user', content: [{ text: 'What is the weather?' }] }
const toolSpec = (name: string): JsonObject => ({
  toolSpec: {
    name,
    description: `The ${name}.`,
    inputSchema: {
      json: {
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
        additionalProperties: false,
      },
    },
  },
})
const weatherTool = toolSpec('weather')
const timeTool = toolSpec('time')
const converseChange = (change: JsonObject): JsonObject =>
  converse(
    [
      asked,
      { role: 'system', content: [change] },
      { role: 'assistant', content: [{ text: 'Rain.' }] },
      { role: 'user', content: [{ text: 'And then?' }] },
    ],
    { toolConfig: { tools: [weatherTool, timeTool] } },
  )

export const clientBodies: Bodies<RequestFeature> = {
  messages: {
    'turns.openReasoning': messagesConversation({ type: 'thinking', thinking: 'I think.', signature: 'mgs1.chat.' }),
    'turns.foreignCallSeal': messagesCall,
    'turns.citations': {
      model: 'm',
      max_tokens: 1000,
      messages: [
        question,
        {
          role: 'assistant',
          content: [
            {
              type: 'text',
              text: 'Rain.',
              citations: [
                {
                  type: 'web_search_result_location',
                  url: 'https://example.com',
                  title: 'Example',
                  cited_text: 'Rain.',
                  encrypted_index: 'e',
                },
              ],
            },
          ],
        },
        next,
      ],
    },
  },
  responses: {
    'sampling.presencePenalty': { model: 'm', input: 'Hello.', presence_penalty: 0.5 },
    'sampling.frequencyPenalty': { model: 'm', input: 'Hello.', frequency_penalty: 0.5 },
    'turns.openReasoning': {
      model: 'm',
      input: [
        question,
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I think.' }] },
        { role: 'assistant', content: 'So.' },
        next,
      ],
    },
    'turns.foreignCallSeal': responsesCall,
  },
  converse: {
    'tools.auto': converse([asked], { toolConfig: { tools: [weatherTool, timeTool], toolChoice: { auto: {} } } }),
    'media.documentText': converse([
      {
        role: 'user',
        content: [{ text: 'What is this?' }, { document: { format: 'txt', source: { text: 'A text.' } } }],
      },
    ]),
    'media.documentName': converse([
      {
        role: 'user',
        content: [
          { text: 'What is this?' },
          { document: { format: 'pdf', name: 'report.pdf', source: { bytes: 'JVBERi0xLjQK' } } },
        ],
      },
    ]),
    'turns.laterSystem': converse([
      asked,
      { role: 'system', content: [{ text: 'Be brief.' }] },
      { role: 'assistant', content: [{ text: 'Rain.' }] },
      { role: 'user', content: [{ text: 'And then?' }] },
    ]),
    'turns.addedTools': converseChange({ toolAddition: { tool: { name: 'time' } } }),
    'turns.removedTools': converseChange({ toolRemoval: { tool: { name: 'weather' } } }),
    'turns.openReasoning': converse([
      { role: 'user', content: [{ text: 'Hello.' }] },
      { role: 'assistant', content: [{ reasoningContent: { reasoningText: { text: 'I think.' } } }, { text: 'So.' }] },
      { role: 'user', content: [{ text: 'And then?' }] },
    ]),
    'turns.foreignCallSeal': converse([
      asked,
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: '', signature: 'mgs1.gemini.@call:call_1:c2VhbA==' } } },
          { toolUse: { toolUseId: 'call_1', name: 'weather', input: { city: 'Oslo' } } },
        ],
      },
      { role: 'user', content: [{ toolResult: { toolUseId: 'call_1', content: [{ text: 'Rain.' }] } }] },
    ]),
    'turns.citations': converse([
      { role: 'user', content: [{ text: 'Hello.' }] },
      {
        role: 'assistant',
        content: [
          {
            citationsContent: {
              content: [{ text: 'Rain.' }],
              citations: [{ title: 'Example', location: { web: { url: 'https://example.com' } } }],
            },
          },
        ],
      },
      { role: 'user', content: [{ text: 'And then?' }] },
    ]),
  },
}

const chat = (message: JsonObject, finish_reason = 'stop'): JsonObject => ({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.', ...message }, finish_reason }],
})
const messages = (more: JsonObject): JsonObject => ({
  type: 'message',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  ...more,
})
const gemini = (finishReason: string): JsonObject => ({
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason, index: 0 }],
})
const outputMessage = (...content: JsonObject[]): JsonObject => ({ type: 'message', role: 'assistant', content })
const responses = (more: JsonObject): JsonObject => ({
  object: 'response',
  status: 'completed',
  output: [outputMessage({ type: 'output_text', text: 'Hello.', annotations: [] })],
  ...more,
})
const incomplete = (reason: string): JsonObject => responses({ status: 'incomplete', incomplete_details: { reason } })

export const upstreamBodies: Bodies<ResponseFeature> = {
  chat: {
    'reasoning.summary': chat({
      content: 'So.',
      reasoning_details: [{ type: 'reasoning.summary', summary: 'I think.' }],
    }),
    'finish.refusal': chat({ content: null, refusal: 'I will not.' }),
    'finish.context-length': chat({}, 'model_length'),
    'finish.other': chat({}, 'word_of_tomorrow'),
    'finish.error': chat({}, 'error'),
  },
  messages: {
    'citation.document': messages({
      content: [
        {
          type: 'text',
          text: 'It rains.',
          citations: [
            {
              type: 'char_location',
              cited_text: 'rain',
              document_index: 0,
              document_title: 'report.pdf',
              start_char_index: 0,
              end_char_index: 4,
            },
          ],
        },
      ],
    }),
    'finish.other': messages({ stop_reason: 'word_of_tomorrow' }),
  },
  gemini: {
    'finish.pause': gemini('CONTINUATION'),
    'finish.error': gemini('MALFORMED_FUNCTION_CALL'),
    'finish.other': gemini('OTHER'),
  },
  responses: {
    'reasoning.text': responses({
      output: [
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'I think.' }] },
        outputMessage({ type: 'output_text', text: 'So.', annotations: [] }),
      ],
    }),
    'citation.document': responses({
      output: [
        outputMessage({
          type: 'output_text',
          text: 'It rains.',
          annotations: [{ type: 'file_citation', file_id: 'file-1', filename: 'report.pdf', index: 3 }],
        }),
      ],
    }),
    'finish.refusal': responses({ output: [outputMessage({ type: 'refusal', refusal: 'I will not.' })] }),
    'finish.pause': incomplete('max_tool_calls'),
    'finish.other': incomplete('word_of_tomorrow'),
    'finish.error': responses({ status: 'failed', error: { code: 'server_error', message: 'It broke.' } }),
  },
  converse: {
    'finish.error': {
      output: { message: { role: 'assistant', content: [{ text: 'Hello.' }] } },
      stopReason: 'malformed_model_output',
    },
  },
}
