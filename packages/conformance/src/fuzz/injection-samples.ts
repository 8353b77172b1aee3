import type { Format, SharedFormat, UpstreamFormat } from '@modelgate/core'
import { wholeAnswer } from '@modelgate/core/test-support'
import type { JsonObject } from '../base/json.ts'
import { bodies } from './bodies.ts'
import { richAnswers } from './responses.ts'

// The bodies of the fuzz tests, with fields that vendors and newer clients add.

const more: { readonly [F in SharedFormat]: readonly JsonObject[] } = {
  chat: [
    {
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', prompt_cache_breakpoint: { mode: 'explicit' } }] },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'yes' },
            { type: 'refusal', refusal: 'no' },
          ],
          reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 's', index: 0 }],
          annotations: [{ type: 'url_citation', url_citation: { url: 'https://e.example', title: 't' } }],
          audio: { id: 'audio_1' },
          function_call: { name: 'old', arguments: '{}' },
        },
        { role: 'function', name: 'old', content: 'done' },
        { role: 'user', content: 'go on' },
      ],
      functions: [{ name: 'old', description: 'd', parameters: { type: 'object', properties: {} } }],
      function_call: { name: 'old' },
      response_format: { type: 'json_object' },
      prediction: { type: 'content', content: [{ type: 'text', text: 'maybe' }] },
      modalities: ['text', 'audio'],
      audio: { voice: 'alloy', format: 'wav' },
      web_search_options: { user_location: { type: 'approximate', approximate: { city: 'Ulm' } } },
      logit_bias: { '1': 2 },
      reasoning: { effort: 'high' },
      thinking: { type: 'enabled', budget_tokens: 2000 },
    },
    {
      messages: [{ role: 'user', content: 'which?' }],
      tools: [
        { type: 'function', function: { name: 'a', parameters: { type: 'object', properties: {} } } },
        { type: 'function', function: { name: 'b' } },
      ],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'a' } }] },
      },
    },
  ],
  messages: [
    {
      max_tokens: 4000,
      cache_control: { type: 'ephemeral' },
      system: 'Be brief.',
      thinking: { type: 'adaptive', display: 'summarized' },
      container: { id: 'c', skills: [{ type: 'anthropic', skill_id: 'pdf', version: 'latest' }] },
      context_management: { edits: [{ type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }] },
      mcp_servers: [{ type: 'url', url: 'https://mcp.example', name: 'm' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'words' }] } },
            { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'found' }] },
            { type: 'container_upload', file_id: 'f' },
          ],
        },
        {
          role: 'assistant',
          content: [
            {
              type: 'text',
              text: 'so',
              citations: [
                {
                  ...{ type: 'web_search_result_location', url: 'https://e.example', title: 't', cited_text: 'c' },
                  encrypted_index: 'e',
                },
              ],
            },
            { type: 'tool_use', id: 'toolu_a', name: 'lookup', input: {}, caller: { type: 'direct' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_a',
              content: [
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
                { type: 'tool_reference', tool_name: 'lookup' },
              ],
              is_error: true,
            },
          ],
        },
      ],
      tools: [
        {
          name: 'lookup',
          input_schema: { type: 'object', allOf: [{ properties: { a: { enum: [1] } } }] },
          strict: true,
        },
        { type: 'mcp_toolset', mcp_server_name: 'm', default_config: { enabled: true } },
      ],
      tool_choice: { type: 'tool', name: 'lookup' },
    },
  ],
  gemini: [
    {
      contents: [
        { role: 'user', parts: [{ text: 'hi', partMetadata: { a: 1 } }] },
        {
          role: 'model',
          parts: [
            { text: 'so', thoughtSignature: 'c2ln' },
            { functionCall: { name: 'look', args: { list: [{ a: 1 }] } } },
          ],
        },
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                name: 'look',
                response: { output: 'x' },
                parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } }],
              },
            },
          ],
        },
      ],
      tools: [
        { functionDeclarations: [{ name: 'look', parametersJsonSchema: { type: 'object', required: ['list'] } }] },
        { googleMaps: { enableWidget: true } },
      ],
      toolConfig: {
        functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['look'] },
        retrievalConfig: { latLng: { latitude: 1, longitude: 2 } },
      },
      generationConfig: {
        responseModalities: ['TEXT'],
        speechConfig: { voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } },
        imageConfig: { aspectRatio: '1:1' },
        thinkingConfig: { thinkingLevel: 'HIGH' },
      },
      serviceTier: 'priority',
    },
  ],
  responses: [
    {
      input: [
        { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be brief.' }] },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'q' } },
        {
          type: 'message',
          role: 'assistant',
          content: [
            {
              type: 'output_text',
              text: 'so',
              annotations: [
                { type: 'url_citation', url: 'https://e.example', title: 't', start_index: 0, end_index: 1 },
              ],
              logprobs: [{ token: 'so', logprob: -1, bytes: [115, 111], top_logprobs: [] }],
            },
          ],
          phase: 'final_answer',
        },
        { type: 'reasoning', id: 'rs_2', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
        { type: 'function_call', call_id: 'call_a', name: 'look', namespace: 'n', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'call_a',
          output: [{ type: 'input_image', image_url: 'https://e.example/a.png', detail: 'low' }],
        },
        { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }] },
      ],
      tools: [
        {
          type: 'namespace',
          name: 'n',
          description: 'd',
          tools: [{ type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }],
        },
        { type: 'tool_search', execution: 'client', description: 'd', parameters: { type: 'object', properties: {} } },
      ],
      tool_choice: { type: 'function', name: 'look', namespace: 'n' },
      text: { format: { type: 'json_object' } },
      reasoning: { effort: 'low', context: 'auto' },
      prompt: { id: 'p', variables: { a: 'b' } },
      stream_options: { include_obfuscation: false },
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
      prompt_cache_options: { mode: 'explicit', ttl: '30m' },
    },
  ],
  converse: [
    {
      system: [{ guardContent: { text: { text: 'policy', qualifiers: ['grounding_source'] } } }],
      messages: [
        {
          role: 'user',
          content: [
            { image: { format: 'jpeg', source: { s3Location: { uri: 's3://bucket/a.jpg', bucketOwner: '1' } } } },
            { document: { name: 'c', source: { content: [{ text: 'one' }, { text: 'two' }] }, context: 'd' } },
            { audio: { format: 'wav', source: { bytes: 'UklGRg==' } } },
            { guardContent: { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } } },
            {
              searchResult: {
                ...{ source: 'https://e.example', title: 't', citations: { enabled: true } },
                content: [{ text: 'found' }],
              },
            },
          ],
        },
        {
          role: 'assistant',
          content: [
            {
              citationsContent: {
                content: [{ text: 'so' }],
                citations: [
                  {
                    ...{ title: 't', source: 'https://e.example', sourceContent: [{ text: 'c' }] },
                    location: { documentPage: { documentIndex: 0, start: 1, end: 2 } },
                  },
                  { location: { web: { url: 'https://e.example', domain: 'e.example' } } },
                ],
              },
            },
            { toolUse: { toolUseId: 'srv_a', name: 'nova_grounding', input: {}, type: 'server_tool_use' } },
            { toolUse: { toolUseId: 'tooluse_a', name: 'lookup', input: { list: [{ a: 1 }] } } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              toolResult: {
                toolUseId: 'tooluse_a',
                content: [
                  { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } },
                  { json: { list: [{ a: 1 }] } },
                ],
              },
            },
          ],
        },
        {
          role: 'system',
          content: [{ toolRemoval: { tool: { type: 'tool_reference', name: 'lookup' } } }, { text: 'In French.' }],
        },
        { role: 'user', content: [{ text: 'go on' }] },
      ],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'lookup', inputSchema: { json: { type: 'object', properties: {} } } } },
          { systemTool: { name: 'nova_grounding' } },
        ],
        toolChoice: { any: {} },
      },
      promptVariables: { a: { text: 'b' } },
      outputConfig: { effort: 'high' },
      additionalModelRequestFields: {
        ...{ anthropic_beta: ['b'], reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } },
        inferenceConfig: { topK: 4 },
      },
    },
  ],
}

const requestsFor = (format: Format): readonly JsonObject[] =>
  [...bodies[format], ...(format === 'ollama' ? [] : more[format])].map((body) => ({ model: 'probed', ...body }))
export const requestsOf: { readonly [F in Format]: readonly JsonObject[] } = {
  chat: requestsFor('chat'),
  messages: requestsFor('messages'),
  gemini: requestsFor('gemini'),
  responses: requestsFor('responses'),
  ollama: requestsFor('ollama'),
  converse: requestsFor('converse'),
}

export const chatUsage = {
  ...{ prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 },
  completion_tokens_details: { reasoning_tokens: 2 },
}
const moreAnswers: { readonly [F in Exclude<SharedFormat, 'converse'>]: readonly JsonObject[] } = {
  chat: [
    {
      ...{ id: 'c', object: 'chat.completion', created: 1, model: 'recorded', usage: chatUsage },
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
              { type: 'text', text: 'so' },
              { type: 'reference', reference_ids: [1] },
            ],
            reasoning_details: [
              { type: 'reasoning.text', text: 'hm', format: 'f', index: 0 },
              { type: 'reasoning.encrypted', data: 'ZA==', index: 1 },
            ],
            images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }],
            function_call: { name: 'old', arguments: '{}' },
          },
        },
      ],
      citations: ['https://e.example'],
      search_results: [{ title: 't', url: 'https://e.example' }],
    },
  ],
  messages: [
    {
      ...{ id: 'msg_4', type: 'message', role: 'assistant', model: 'recorded' },
      ...{ stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber', explanation: 'no' } },
      container: { id: 'c', expires_at: '2026-01-01T00:00:00Z' },
      context_management: { applied_edits: [{ type: 'clear_tool_uses_20250919', cleared_tool_uses: 1 }] },
      content: [
        { type: 'tool_use', id: 'toolu_a', name: 'lookup', input: { list: [{ a: 1 }] }, caller: { type: 'direct' } },
        { type: 'compaction', content: 'all before' },
        { type: 'text', text: 'so', citations: null },
      ],
      usage: { input_tokens: 3, output_tokens: 9, server_tool_use: { web_search_requests: 1 } },
    },
  ],
  gemini: [
    {
      candidates: [
        {
          ...{ index: 0, finishReason: 'STOP', finishMessage: 'done' },
          content: {
            role: 'model',
            parts: [{ text: 'so' }, { fileData: { mimeType: 'image/png', fileUri: 'files/a' } }],
          },
          safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }],
          citationMetadata: {
            citationSources: [{ startIndex: 0, endIndex: 1, uri: 'https://e.example', license: 'x' }],
          },
          urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://e.example' }] },
        },
      ],
      usageMetadata: {
        ...{ promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5, cachedContentTokenCount: 1 },
        cacheTokensDetails: [{ modality: 'TEXT', tokenCount: 1 }],
        candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 1 }],
      },
      modelStatus: { modelStage: 'STABLE' },
    },
  ],
  responses: [
    {
      ...{ id: 'resp_4', object: 'response', created_at: 1, model: 'recorded', status: 'completed' },
      reasoning: { effort: 'high', summary: 'auto' },
      tool_usage: { web_search: { num_requests: 1 } },
      tools: [{ type: 'web_search' }],
      output: [
        { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: 'iVBORw0K', output_format: 'png' },
        { id: 'rs_1', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
        {
          ...{ id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', phase: 'final_answer' },
          content: [
            {
              ...{ type: 'output_text', text: 'so' },
              annotations: [{ type: 'file_citation', file_id: 'f', filename: 'a.pdf', index: 0 }],
              logprobs: [
                {
                  ...{ token: 'so', logprob: -1, bytes: [115, 111] },
                  top_logprobs: [{ token: 'so', logprob: -1, bytes: [115, 111] }],
                },
              ],
            },
          ],
        },
      ],
      usage: {
        ...{ input_tokens: 3, output_tokens: 9, total_tokens: 12 },
        input_tokens_details: { cached_tokens: 1 },
        output_tokens_details: { reasoning_tokens: 2 },
      },
    },
  ],
}
export const answersOf: { readonly [F in UpstreamFormat]: readonly JsonObject[] } = {
  chat: [...richAnswers.chat, ...moreAnswers.chat],
  messages: [...richAnswers.messages, ...moreAnswers.messages],
  gemini: [...richAnswers.gemini, ...moreAnswers.gemini],
  responses: [...richAnswers.responses, ...moreAnswers.responses],
  converse: [wholeAnswer, ...richAnswers.converse],
}
