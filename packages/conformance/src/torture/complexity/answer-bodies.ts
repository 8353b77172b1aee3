import { wholeAnswer } from '@modelgate/core/test-support'
import type { JsonObject } from '../../base/json.ts'
import type { Format } from '../../base/recorded-traffic.ts'
import { richAnswers } from '../../fuzz/responses.ts'
import type { UpstreamFormat } from './targets.ts'

const citation = { title: 'Weather', source: 's', sourceContent: [{ text: 'rainy' }] }

/** Responses in addition to those of the fuzz tests, with lists that refer to the text or to each other. */
const more: { readonly [S in UpstreamFormat]: readonly JsonObject[] } = {
  chat: [
    {
      id: 'chatcmpl-3',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          message: {
            role: 'assistant',
            content: [{ type: 'text', text: 'so' }],
            reasoning_details: [{ type: 'reasoning.text', text: 'hm', signature: 's', id: 'r1', index: 0 }],
            images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0K' } }],
          },
        },
      ],
      citations: ['https://e.example'],
      search_results: [{ title: 't', url: 'https://e.example' }],
      usage: { prompt_tokens: 3, completion_tokens: 9, total_tokens: 12 },
    },
  ],
  messages: [],
  gemini: [
    {
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          content: { role: 'model', parts: [{ text: 'so it is' }] },
          citationMetadata: { citationSources: [{ startIndex: 0, endIndex: 2, uri: 'https://e.example' }] },
          safetyRatings: [{ category: 'HARM_CATEGORY_HARASSMENT', probability: 'LOW' }],
          urlContextMetadata: { urlMetadata: [{ retrievedUrl: 'https://e.example', urlRetrievalStatus: 'OK' }] },
          groundingMetadata: {
            searchEntryPoint: { renderedContent: '<a>' },
            webSearchQueries: ['q'],
            groundingChunks: [{ web: { uri: 'https://e.example', title: 't' } }],
            groundingSupports: [
              {
                segment: { startIndex: 0, endIndex: 2, text: 'so' },
                groundingChunkIndices: [0],
                confidenceScores: [1],
              },
            ],
          },
        },
      ],
      usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    },
  ],
  responses: [],
  converse: [
    wholeAnswer,
    {
      output: {
        message: {
          role: 'assistant',
          content: [{ citationsContent: { content: [{ text: 'Oslo is rainy.' }], citations: [citation] } }],
        },
      },
      stopReason: 'end_turn',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    },
  ],
}

/**
 * Returns the unstreamed responses whose places are attacked, by the upstream's format. The first one also responds to
 * attacks by clients.
 */
export const attackedAnswers = (speaks: UpstreamFormat): readonly JsonObject[] => [
  ...(speaks === 'converse' ? [] : richAnswers[speaks as Format]),
  ...more[speaks],
]

/** Error bodies of upstreams around a given text. */
export const errorBodies: Readonly<Record<UpstreamFormat, readonly ((text: string) => string)[]>> = {
  chat: [
    (message) => JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
    (text) => text,
    (text) => JSON.stringify({ detail: [{ loc: ['body', text], msg: text, type: 'value_error' }] }),
  ],
  messages: [(message) => JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message } })],
  gemini: [
    (message) => JSON.stringify({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
    (message) =>
      JSON.stringify({ error: { code: 429, message, status: 'RESOURCE_EXHAUSTED', details: [{ '@type': 't' }] } }),
  ],
  responses: [
    (message) => JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code: null } }),
  ],
  converse: [
    (message) => JSON.stringify({ message }),
    (message) => JSON.stringify({ __type: 'ValidationException', message }),
  ],
}
