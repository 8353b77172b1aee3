import type { ClientFormat } from '../../base/client-formats.ts'
import { type JsonObject, objectOf } from '../../base/json.ts'
import { bodies } from '../../fuzz/bodies.ts'
import type { OperationCall } from '../../fuzz/operations.ts'

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const pdf = 'JVBERi0='

/**
 * Additions to the fuzz bodies: tools without `strict`, documents with names, results with several parts, references to
 * earlier items.
 */
const more: { readonly [F in ClientFormat]: readonly JsonObject[] } = {
  chat: [
    {
      messages: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }],
      tools: [{ type: 'function', function: { name: 'lookup', parameters: schema } }],
      response_format: { type: 'json_schema', json_schema: { name: 'weather', schema } },
      modalities: ['text'],
      logit_bias: { '50256': -1 },
      prediction: { type: 'content', content: [{ type: 'text', text: 'so' }] },
      web_search_options: { user_location: { type: 'approximate', approximate: { country: 'DE' } } },
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'lookup' } }] },
      },
    },
    {
      messages: [
        { role: 'user', content: 'weather?' },
        { role: 'assistant', content: null, function_call: { name: 'lookup', arguments: '{"city":"Ulm"}' } },
        { role: 'function', name: 'lookup', content: 'sunny' },
      ],
      functions: [{ name: 'lookup', parameters: schema }],
      function_call: { name: 'lookup' },
    },
  ],
  messages: [
    {
      max_tokens: 100,
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'weather?' }] },
        {
          role: 'assistant',
          content: [
            {
              type: 'text',
              text: 'Rain.',
              citations: [
                {
                  type: 'web_search_result_location',
                  url: 'https://e.example',
                  title: 't',
                  cited_text: 'Rain.',
                  encrypted_index: 'e',
                },
              ],
            },
            { type: 'tool_use', id: 'toolu_a', name: 'lookup', input: { city: 'Ulm' } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'toolu_a',
              content: [
                { type: 'text', text: 'sunny' },
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0K' } },
                { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'found' }] },
              ],
            },
            {
              type: 'document',
              title: 'notes',
              source: { type: 'content', content: [{ type: 'text', text: 'a' }] },
            },
            { type: 'document', title: 'report', source: { type: 'base64', media_type: 'application/pdf', data: pdf } },
          ],
        },
      ],
      tools: [
        {
          name: 'lookup',
          description: 'weather',
          strict: true,
          input_schema: schema,
          input_examples: [{ city: 'Ulm' }],
        },
        {
          type: 'web_search_20250305',
          name: 'web_search',
          allowed_domains: ['e.example'],
          user_location: { type: 'approximate', city: 'Ulm' },
        },
      ],
      mcp_servers: [
        { type: 'url', name: 's', url: 'https://mcp.example', tool_configuration: { allowed_tools: ['lookup'] } },
      ],
      context_management: { edits: [{ type: 'clear_tool_uses_20250919', exclude_tools: ['lookup'] }] },
    },
  ],
  gemini: [
    {
      contents: [
        {
          role: 'user',
          parts: [{ text: 'a' }, { inlineData: { mimeType: 'application/pdf', data: pdf, displayName: 'n' } }],
        },
        {
          role: 'model',
          parts: [{ functionCall: { id: 'call_a', name: 'lookup', args: { cities: ['Ulm'] } } }],
        },
        {
          role: 'user',
          parts: [
            {
              functionResponse: {
                id: 'call_a',
                name: 'lookup',
                response: { output: ['sunny'] },
                parts: [{ inlineData: { mimeType: 'image/png', data: 'iVBORw0K' } }],
              },
            },
          ],
        },
      ],
      tools: [
        {
          functionDeclarations: [
            {
              name: 'lookup',
              parameters: { type: 'OBJECT', properties: { city: { type: 'STRING' } }, required: ['city'] },
            },
            { name: 'search', parametersJsonSchema: schema, responseJsonSchema: schema },
          ],
        },
        { urlContext: {} },
      ],
      generationConfig: {
        responseMimeType: 'application/json',
        responseJsonSchema: schema,
        responseModalities: ['TEXT'],
        speechConfig: {
          multiSpeakerVoiceConfig: {
            speakerVoiceConfigs: [{ speaker: 'a', voiceConfig: { prebuiltVoiceConfig: { voiceName: 'Kore' } } }],
          },
        },
      },
    },
  ],
  responses: [
    {
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
        { type: 'item_reference', id: 'msg_0' },
        {
          type: 'web_search_call',
          id: 'ws_1',
          status: 'completed',
          action: { type: 'search', query: 'q', queries: ['q'], sources: [{ type: 'url', url: 'https://e.example' }] },
        },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [
            {
              type: 'output_text',
              text: 'so',
              annotations: [
                { type: 'url_citation', url: 'https://e.example', title: 't', start_index: 0, end_index: 1 },
              ],
            },
          ],
        },
        { type: 'function_call', call_id: 'call_a', name: 'lookup', arguments: '{"cities":["Ulm"]}' },
        { type: 'function_call_output', call_id: 'call_a', output: 'sunny' },
      ],
      tools: [
        { type: 'function', name: 'lookup', parameters: schema },
        {
          type: 'namespace',
          name: 'n',
          description: 'd',
          tools: [{ type: 'function', name: 'search', parameters: schema }],
        },
        {
          type: 'mcp',
          server_label: 's',
          server_url: 'https://mcp.example',
          allowed_tools: ['lookup'],
          headers: { a: 'b' },
        },
        {
          type: 'file_search',
          vector_store_ids: ['vs_1'],
          filters: { type: 'and', filters: [{ type: 'eq', key: 'a', value: 'b' }] },
        },
      ],
      text: { format: { type: 'json_schema', name: 'weather', schema } },
    },
    { input: 'hello', prompt: { id: 'pmpt_1', variables: { city: 'Ulm' } } },
  ],
  // Without ids, results belong to the calls of their tools.
  ollama: [
    {
      messages: [
        { role: 'user', content: 'weather?' },
        { role: 'assistant', content: '', tool_calls: [{ function: { name: 'lookup', arguments: { city: 'Ulm' } } }] },
        { role: 'tool', tool_name: 'lookup', content: 'sunny' },
      ],
      tools: [{ type: 'function', function: { name: 'lookup', parameters: schema } }],
      options: { stop: ['a'] },
    },
  ],
  converse: [
    {
      messages: [
        { role: 'user', content: [{ text: 'weather?' }] },
        { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'lookup', input: { city: 'Ulm' } } }] },
        {
          role: 'user',
          content: [{ toolResult: { toolUseId: 't1', content: [{ text: 'sunny' }, { json: { warm: true } }] } }],
        },
      ],
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }],
      toolConfig: {
        tools: [{ toolSpec: { name: 'lookup', inputSchema: { json: schema } } }],
        toolChoice: { auto: {} },
      },
      inferenceConfig: { stopSequences: ['a'] },
    },
  ],
}

/** Media and references that some upstreams reject: such a body would not be translated at all. */
const refused = /video|input_audio|files\.example|item_reference/

const withoutRefused = (body: JsonObject): JsonObject =>
  JSON.parse(
    JSON.stringify(body, (key, value: unknown) =>
      Array.isArray(value) && /^(content|parts|input)$/.test(key)
        ? value.filter((part) => objectOf(part).role !== undefined || !refused.test(JSON.stringify(part)))
        : value,
    ),
  ) as JsonObject

/** `strict` determines how a tool's schema is handled: bodies are also sent without it. */
const withoutStrict = (body: JsonObject): JsonObject =>
  JSON.parse(JSON.stringify(body, (key, value: unknown) => (key === 'strict' ? undefined : value))) as JsonObject

/** Returns the bodies whose places are attacked, by the client's format. */
export const attackedBodies = (format: ClientFormat): readonly JsonObject[] => {
  const whole = [...bodies[format], ...more[format]]
  // If two bodies have the same place, the one that more upstreams accept is attacked.
  const accepted = whole.map(withoutRefused)
  const variants = [...accepted, ...accepted.map(withoutStrict), ...whole]
  return [...new Map(variants.map((body) => [JSON.stringify(body), body])).values()]
}

/** Calls of operations in addition to the fuzz tests, as translations accept them. */
export const moreOperationCalls: readonly OperationCall[] = [
  {
    path: '/v1beta/models/{model}:countTokens',
    dialect: 'gemini',
    models: ['messages', 'responses'],
    body: withoutRefused(bodies.gemini[1] as JsonObject),
  },
  {
    path: '/v1/completions',
    dialect: 'chat',
    models: ['messages', 'gemini', 'responses', 'converse'],
    body: { prompt: 'one', max_tokens: 5, stop: ['a'] },
  },
  {
    path: '/v1/audio/speech',
    dialect: 'chat',
    models: ['gemini'],
    body: { input: 'hello', voice: 'alloy', response_format: 'wav' },
  },
]
