import type { SharedFormat } from '@modelgate/core'
import type { JsonObject } from '../base/json.ts'

const usage = { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12, prompt_tokens_details: { cached_tokens: 1 } }

/** Feature-rich responses, as each format's servers write them. */
export const richAnswers: { readonly [F in SharedFormat]: readonly JsonObject[] } = {
  chat: [
    {
      ...{ id: 'chatcmpl-2', object: 'chat.completion', created: 1, model: 'recorded', service_tier: 'default', usage },
      choices: [
        {
          index: 0,
          finish_reason: 'tool_calls',
          logprobs: { content: [{ token: 'so', logprob: -1, bytes: [115, 111], top_logprobs: [] }], refusal: null },
          message: {
            ...{ role: 'assistant', content: 'so', refusal: null, reasoning_content: 'hm' },
            annotations: [
              {
                type: 'url_citation',
                url_citation: { url: 'https://e.example', title: 't', start_index: 0, end_index: 1 },
              },
            ],
            tool_calls: [
              { id: 'call_a', type: 'function', function: { name: 'lookup', arguments: '{"city":"Ulm"}' } },
              { id: 'call_b', type: 'custom', custom: { name: 'run', input: 'a' } },
            ],
          },
        },
        {
          index: 1,
          finish_reason: 'length',
          message: { role: 'assistant', content: null, audio: { id: 'a', data: 'UklGRg==', transcript: 't' } },
        },
      ],
    },
  ],
  messages: [
    {
      ...{
        id: 'msg_2',
        type: 'message',
        role: 'assistant',
        model: 'recorded',
        stop_reason: 'tool_use',
        stop_sequence: null,
      },
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'ZGF0YQ==' },
        {
          ...{ type: 'text', text: 'so' },
          citations: [
            {
              type: 'char_location',
              cited_text: 'a',
              document_index: 0,
              document_title: null,
              start_char_index: 0,
              end_char_index: 1,
            },
          ],
        },
        { type: 'tool_use', id: 'toolu_a', name: 'lookup', input: { city: 'Ulm' } },
        { type: 'server_tool_use', id: 'srvtoolu_a', name: 'web_search', input: { query: 'q' } },
        {
          ...{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_a' },
          content: [{ type: 'web_search_result', url: 'https://e.example', title: 't', encrypted_content: 'eA==' }],
        },
      ],
      usage: {
        input_tokens: 3,
        output_tokens: 9,
        cache_read_input_tokens: 1,
        cache_creation: { ephemeral_5m_input_tokens: 0 },
      },
    },
  ],
  gemini: [
    {
      candidates: [
        {
          ...{ index: 0, finishReason: 'STOP', avgLogprobs: -0.5 },
          content: {
            role: 'model',
            parts: [
              { text: 'hm', thought: true },
              { text: 'so', thoughtSignature: 'c2ln' },
              { functionCall: { id: 'call_a', name: 'lookup', args: { city: 'Ulm' } } },
              { inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } },
              { executableCode: { language: 'PYTHON', code: '1' } },
              { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
            ],
          },
          groundingMetadata: {
            webSearchQueries: ['q'],
            groundingChunks: [{ web: { uri: 'https://e.example', title: 't' } }],
            groundingSupports: [{ segment: { startIndex: 0, endIndex: 1, text: 's' }, groundingChunkIndices: [0] }],
          },
          logprobsResult: {
            chosenCandidates: [{ token: 'so', tokenId: 1, logProbability: -1 }],
            topCandidates: [{ candidates: [] }],
          },
        },
      ],
      usageMetadata: {
        promptTokenCount: 3,
        candidatesTokenCount: 2,
        thoughtsTokenCount: 1,
        totalTokenCount: 6,
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: 3 }],
      },
      ...{ modelVersion: 'recorded', responseId: 'r2' },
    },
    {
      promptFeedback: { blockReason: 'SAFETY', safetyRatings: [] },
      usageMetadata: { promptTokenCount: 3, totalTokenCount: 3 },
    },
  ],
  responses: [
    {
      ...{
        id: 'resp_2',
        object: 'response',
        created_at: 1,
        model: 'recorded',
        status: 'incomplete',
        service_tier: 'default',
      },
      incomplete_details: { reason: 'max_output_tokens' },
      output: [
        {
          id: 'rs_1',
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: 'ZGF0YQ==',
        },
        { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
        {
          ...{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant' },
          content: [
            {
              ...{ type: 'output_text', text: 'so', logprobs: [] },
              annotations: [
                { type: 'url_citation', url: 'https://e.example', title: 't', start_index: 0, end_index: 1 },
              ],
            },
            { type: 'refusal', refusal: 'no' },
          ],
        },
        {
          id: 'fc_1',
          type: 'function_call',
          call_id: 'call_a',
          name: 'lookup',
          arguments: '{"city":"Ulm"}',
          status: 'completed',
        },
        { id: 'ctc_1', type: 'custom_tool_call', call_id: 'call_b', name: 'run', input: 'a' },
      ],
      usage: { input_tokens: 3, output_tokens: 9, total_tokens: 12, output_tokens_details: { reasoning_tokens: 2 } },
    },
  ],
  converse: [
    {
      output: {
        message: {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
            { reasoningContent: { redactedContent: 'ZGF0YQ==' } },
            { text: 'so' },
            {
              citationsContent: {
                content: [{ text: 'cited' }],
                citations: [{ title: 't', location: { web: { url: 'https://e.example', domain: 'e.example' } } }],
              },
            },
            { toolUse: { toolUseId: 'tooluse_a', name: 'lookup', input: { city: 'Ulm' } } },
            { image: { format: 'png', source: { bytes: 'iVBORw0K' } } },
          ],
        },
      },
      stopReason: 'tool_use',
      usage: {
        ...{ inputTokens: 3, outputTokens: 9, totalTokens: 13, cacheReadInputTokens: 1, cacheWriteInputTokens: 0 },
        cacheDetails: [{ ttl: '5m', inputTokens: 0 }],
      },
      metrics: { latencyMs: 5 },
      trace: { guardrail: { actionReason: 'No action.' }, promptRouter: { invokedModelId: 'm' } },
      performanceConfig: { latency: 'standard' },
      additionalModelResponseFields: { stop_sequence: 'a', other: 1 },
      serviceTier: { type: 'flex' },
    },
  ],
}
