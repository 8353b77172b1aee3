import type { Format } from '@modelgate/core'
import type { JsonObject } from '../base/json.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const schema = {
  type: 'object',
  properties: { city: { type: 'string' }, days: { type: ['integer', 'null'], minimum: 1 } },
  required: ['city'],
  additionalProperties: false,
}

/** Feature-rich requests of each format. The tests add the model. */
export const bodies: { readonly [F in Format]: readonly JsonObject[] } = {
  chat: [
    { messages: [{ role: 'user', content: 'hello' }] },
    {
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is in it?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'low' } },
            { type: 'image_url', image_url: { url: 'https://files.example/a.png' } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
            { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
          ],
        },
      ],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      stop: ['a', 'b'],
      n: 1,
      seed: 7,
      logprobs: true,
      top_logprobs: 2,
      presence_penalty: 0.1,
      max_completion_tokens: 100,
      metadata: { a: 'b' },
      user: 'u1',
      response_format: { type: 'json_schema', json_schema: { name: 'weather', schema, strict: true } },
    },
    {
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Use tools.' }] },
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: null,
          reasoning_content: 'thinking about it',
          tool_calls: [
            { id: 'call_a', type: 'function', function: { name: 'lookup', arguments: '{"city":"Ulm"}' } },
            { id: 'call_b', type: 'function', function: { name: 'lookup', arguments: '' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_a', content: 'sunny' },
        { role: 'tool', tool_call_id: 'call_b', content: [{ type: 'text', text: 'rain' }] },
        { role: 'assistant', content: 'Both.', refusal: null },
        { role: 'user', content: 'thanks', name: 'rita' },
      ],
      tools: [
        { type: 'function', function: { name: 'lookup', description: 'weather', parameters: schema, strict: true } },
        {
          type: 'custom',
          custom: { name: 'run', format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } } },
        },
      ],
      tool_choice: { type: 'function', function: { name: 'lookup' } },
      parallel_tool_calls: false,
      reasoning_effort: 'high',
      stream: true,
    },
  ],
  messages: [
    { max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] },
    {
      max_tokens: 4000,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is it?' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
            { type: 'image', source: { type: 'url', url: 'https://files.example/a.png' } },
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'words' },
              title: 't',
              citations: { enabled: true },
            },
            { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
          ],
        },
      ],
      stream: true,
      temperature: 1,
      top_k: 5,
      stop_sequences: ['a'],
      metadata: { user_id: 'u1' },
      service_tier: 'auto',
      output_config: { format: { type: 'json_schema', schema }, effort: 'high' },
    },
    {
      max_tokens: 4000,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      messages: [
        { role: 'user', content: 'weather?' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2lnbmF0dXJl' },
            { type: 'redacted_thinking', data: 'ZGF0YQ==' },
            { type: 'text', text: 'I look.' },
            { type: 'tool_use', id: 'toolu_a', name: 'lookup', input: { city: 'Ulm' } },
            { type: 'server_tool_use', id: 'srvtoolu_a', name: 'web_search', input: { query: 'q' } },
            {
              type: 'web_search_tool_result',
              tool_use_id: 'srvtoolu_a',
              content: [{ type: 'web_search_result', url: 'https://e.example', title: 't', encrypted_content: 'eA==' }],
            },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_a',
              content: [{ type: 'text', text: 'sunny' }],
              is_error: false,
            },
            { type: 'text', text: 'and?' },
          ],
        },
      ],
      tools: [
        { name: 'lookup', description: 'weather', input_schema: schema },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      stream: true,
    },
  ],
  gemini: [
    { contents: [{ role: 'user', parts: [{ text: 'hello' }] }] },
    {
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      contents: [
        {
          role: 'user',
          parts: [
            { text: 'What is it?' },
            { inlineData: { mimeType: 'image/png', data: pixel } },
            { fileData: { mimeType: 'video/mp4', fileUri: 'https://files.example/a.mp4' }, videoMetadata: { fps: 1 } },
          ],
        },
      ],
      generationConfig: {
        temperature: 0.5,
        topP: 0.9,
        topK: 4,
        candidateCount: 1,
        maxOutputTokens: 100,
        stopSequences: ['a'],
        responseMimeType: 'application/json',
        responseSchema: {
          type: 'OBJECT',
          properties: { city: { type: 'STRING', nullable: true } },
          propertyOrdering: ['city'],
        },
        seed: 7,
        thinkingConfig: { includeThoughts: true, thinkingBudget: 100 },
        responseLogprobs: true,
        logprobs: 2,
      },
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }],
      labels: { a: 'b' },
    },
    {
      contents: [
        { role: 'user', parts: [{ text: 'weather?' }] },
        {
          role: 'model',
          parts: [
            { text: 'hm', thought: true },
            { functionCall: { id: 'call_a', name: 'lookup', args: { city: 'Ulm' } }, thoughtSignature: 'c2ln' },
            { functionCall: { name: 'lookup', args: {} } },
            { executableCode: { language: 'PYTHON', code: '1' } },
            { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
          ],
        },
        {
          role: 'user',
          parts: [
            { functionResponse: { id: 'call_a', name: 'lookup', response: { result: 'sunny' } } },
            { function_response: { name: 'lookup', response: { output: [1] } } },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            { name: 'lookup', description: 'weather', parameters: { type: 'OBJECT', properties: {} } },
          ],
        },
        { googleSearch: {} },
        { code_execution: {} },
      ],
      toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['lookup'] } },
    },
  ],
  responses: [
    { input: 'hello' },
    {
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: `data:image/png;base64,${pixel}`, detail: 'auto' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
          ],
        },
      ],
      text: { format: { type: 'json_schema', name: 'weather', schema, strict: true }, verbosity: 'low' },
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      reasoning: { effort: 'high', summary: 'auto' },
      temperature: 1,
      max_output_tokens: 1000,
      metadata: { a: 'b' },
      truncation: 'auto',
      top_logprobs: 2,
      safety_identifier: 'u1',
    },
    {
      input: [
        { type: 'message', role: 'developer', content: 'Use tools.' },
        { role: 'user', content: 'weather?' },
        {
          type: 'reasoning',
          id: 'rs_1',
          summary: [{ type: 'summary_text', text: 'hm' }],
          encrypted_content: 'ZGF0YQ==',
        },
        { type: 'function_call', id: 'fc_1', call_id: 'call_a', name: 'lookup', arguments: '{"city":"Ulm"}' },
        { type: 'function_call_output', call_id: 'call_a', output: [{ type: 'input_text', text: 'sunny' }] },
        { type: 'custom_tool_call', call_id: 'call_b', name: 'run', input: 'a' },
        { type: 'custom_tool_call_output', call_id: 'call_b', output: 'b' },
        {
          type: 'message',
          id: 'msg_1',
          status: 'completed',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'Both.', annotations: [] },
            { type: 'refusal', refusal: 'no' },
          ],
        },
        { role: 'user', content: 'and?' },
      ],
      tools: [
        { type: 'function', name: 'lookup', description: 'weather', parameters: schema, strict: true },
        { type: 'custom', name: 'run', format: { type: 'grammar', syntax: 'regex', definition: 'a' } },
        { type: 'web_search', search_context_size: 'low' },
        { type: 'mcp', server_label: 's', server_url: 'https://mcp.example', require_approval: 'never' },
      ],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'lookup' }] },
      parallel_tool_calls: true,
      max_tool_calls: 3,
      stream: true,
    },
  ],
  ollama: [
    { messages: [{ role: 'user', content: 'hello' }], stream: false },
    {
      think: 'high',
      keep_alive: '5m',
      format: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
      logprobs: true,
      top_logprobs: 2,
      options: {
        temperature: 0.5,
        top_p: 0.5,
        top_k: 5,
        seed: 7,
        num_predict: 100,
        stop: ['END'],
        presence_penalty: 0.5,
        frequency_penalty: 0.5,
        num_ctx: 4096,
        min_p: 0.1,
      },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is this?', images: [pixel] },
        {
          role: 'assistant',
          content: 'I look.',
          thinking: 'hm',
          tool_calls: [{ id: 'call_1', type: 'function', function: { index: 0, name: 'find', arguments: { a: [1] } } }],
        },
        { role: 'tool', content: 'found', tool_name: 'find', tool_call_id: 'call_1' },
        { role: 'user', content: 'go on' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'find',
            description: 'finds',
            parameters: {
              type: 'object',
              properties: { a: { type: 'array', items: { type: 'integer' } } },
              required: ['a'],
            },
          },
        },
      ],
    },
  ],
  converse: [
    { messages: [{ role: 'user', content: [{ text: 'hello' }] }] },
    {
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default', ttl: '1h' } }],
      messages: [
        {
          role: 'user',
          content: [
            { text: 'What is it?' },
            { image: { format: 'png', source: { bytes: pixel } } },
            { document: { format: 'pdf', name: 'a', source: { bytes: 'JVBERi0=' }, citations: { enabled: true } } },
            { document: { format: 'txt', name: 'b', source: { text: 'words' } } },
            { video: { format: 'mp4', source: { bytes: 'AAAA' } } },
            { guardContent: { text: { text: 'check this', qualifiers: ['guard_content'] } } },
            { cachePoint: { type: 'default' } },
          ],
        },
      ],
      inferenceConfig: { maxTokens: 100, temperature: 0.5, topP: 0.9, stopSequences: ['a'] },
      additionalModelRequestFields: { top_k: 5 },
      additionalModelResponseFieldPaths: ['/stop_sequence'],
      requestMetadata: { a: 'b' },
      serviceTier: { type: 'flex' },
      performanceConfig: { latency: 'optimized' },
      outputConfig: {
        textFormat: {
          type: 'json_schema',
          structure: { jsonSchema: { name: 'weather', schema: JSON.stringify(schema) } },
        },
      },
    },
    {
      messages: [
        { role: 'user', content: [{ text: 'weather?' }] },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2lnbmF0dXJl' } } },
            { reasoningContent: { redactedContent: 'ZGF0YQ==' } },
            { text: 'I look.' },
            { toolUse: { toolUseId: 'tooluse_a', name: 'lookup', input: { city: 'Ulm' } } },
            { toolUse: { toolUseId: 'tooluse_b', name: 'lookup', input: {} } },
          ],
        },
        {
          role: 'user',
          content: [
            { toolResult: { toolUseId: 'tooluse_a', content: [{ text: 'sunny' }], status: 'success' } },
            { toolResult: { toolUseId: 'tooluse_b', content: [{ json: { rain: true } }], status: 'error' } },
            { text: 'and?' },
          ],
        },
      ],
      toolConfig: {
        tools: [
          { toolSpec: { name: 'lookup', description: 'weather', inputSchema: { json: schema }, strict: true } },
          { cachePoint: { type: 'default' } },
        ],
        toolChoice: { tool: { name: 'lookup' } },
      },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 2000 } },
      guardrailConfig: { guardrailIdentifier: 'g', guardrailVersion: '1', trace: 'enabled' },
    },
  ],
}
