import { allFieldsExcept, commonFields } from './chat-fields.ts'
import { compatibleProvider, type FormatOptions } from './openai-compatible.ts'
import type { Upstream } from './upstream.ts'

/**
 * Creates the upstream for Ollama, on your machine or in its cloud (`baseURL: 'https://ollama.com'` with an `apiKey`). `baseURL` defaults
 * to `http://localhost:11434`; it may include `/v1`. Formats: chat, messages (since Ollama 0.14) and responses (since 0.13.3).
 */
export const ollama = (options: FormatOptions<'chat' | 'messages' | 'responses'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'http://localhost:11434',
      keyVariable: 'OLLAMA_API_KEY',
      formats: ['chat', 'messages', 'responses'],
      operations: ['completions', 'embeddings', 'transcriptions'],
      quirks: {
        maxTokensField: 'max_tokens',
        developerRole: 'system',
        reasoningField: 'reasoning',
        efforts: ['none', 'low', 'medium', 'high', 'max'],
        lacks: allFieldsExcept(
          [
            ...commonFields,
            'frequency_penalty',
            'logprobs',
            'presence_penalty',
            'reasoning',
            'reasoning_effort',
            'seed',
            'top_logprobs',
            'messages[].name',
            'messages[].reasoning',
          ],
          'ignored',
        ),
      },
    },
    options,
  )

/**
 * Creates the upstream for a vLLM server. `baseURL` defaults to `http://localhost:8000`; it may include `/v1`. Formats: chat,
 * responses and messages.
 */
export const vllm = (options: FormatOptions<'chat' | 'responses' | 'messages'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'http://localhost:8000',
      formats: ['chat', 'responses', 'messages'],
      countTokens: ['messages'],
      operations: ['completions', 'embeddings', 'rerank', 'transcriptions', 'translations'],
      quirks: {
        topK: true,
        reasoningField: 'reasoning',
        toolChoices: 'names',
        lacks: allFieldsExcept(
          [
            ...commonFields,
            'frequency_penalty',
            'logit_bias',
            'logprobs',
            'n',
            'parallel_tool_calls',
            'presence_penalty',
            'reasoning_effort',
            'seed',
            'tool_choice',
            'top_k',
            'top_logprobs',
            'messages[].name',
            'messages[].reasoning',
            'messages[].reasoning_content',
          ],
          'ignored',
        ),
      },
    },
    options,
  )

/**
 * Creates the upstream for the server of llama.cpp. `baseURL` defaults to `http://localhost:8080`; it may include `/v1`. Formats: chat
 *, messages and responses.
 */
export const llamaCpp = (options: FormatOptions<'chat' | 'messages' | 'responses'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'http://localhost:8080',
      formats: ['chat', 'messages', 'responses'],
      countTokens: ['messages', 'responses'],
      operations: ['completions', 'embeddings', 'rerank'],
      quirks: {
        topK: true,
        reasoningField: 'reasoning_content',
        // llama.cpp silently treats a forced function as `auto`.
        toolChoices: 'words',
        lacks: {
          user: 'ignored',
          metadata: 'ignored',
          store: 'ignored',
          service_tier: 'ignored',
          verbosity: 'ignored',
        },
      },
    },
    options,
  )

/**
 * Creates the upstream for LM Studio. `baseURL` defaults to `http://localhost:1234`; it may include `/v1`. Formats: chat,
 * responses and messages.
 */
export const lmStudio = (options: FormatOptions<'chat' | 'responses' | 'messages'> = {}): Upstream =>
  compatibleProvider(
    {
      baseURL: 'http://localhost:1234',
      formats: ['chat', 'responses', 'messages'],
      operations: ['completions', 'embeddings'],
      quirks: {
        topK: true,
        toolChoices: 'words',
        lacks: { n: 'ignored', user: 'ignored', metadata: 'ignored', store: 'ignored', service_tier: 'ignored' },
      },
    },
    options,
  )
