import type { JsonObject } from '../base/json.ts'

/** A recorded or documented usage, with its bill computed by hand from the prices. */
export interface Bill {
  readonly title: string
  readonly format: 'chat' | 'messages' | 'responses' | 'gemini'
  readonly model: string
  readonly usage: JsonObject
  /** Further members of the response: its tier, its tools, or the metadata of its candidate. */
  readonly response?: JsonObject
  readonly cost: number
}

const million = 1_000_000

/** Prices of the models, invented so that no two rates are equal. */
export const prices = {
  sonnet: {
    input: 3,
    cachedInput: 0.3,
    cacheWrite: 3.75,
    cacheWrite1h: 6,
    output: 15,
    search: 0.01,
    tiers: {
      batch: { input: 1.5, cachedInput: 0.15, cacheWrite: 1.875, output: 7.5 },
      priority: { input: 4, output: 20 },
    },
    longContext: { above: 200_000, input: 6, cachedInput: 0.6, cacheWrite: 7.5, output: 22.5 },
  },
  opus: { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25, tiers: { fast: { input: 30, output: 150 } } },
  'haiku*': { input: 1, cachedInput: 0.1, output: 5 },
  gpt: {
    input: 1.25,
    cachedInput: 0.125,
    output: 10,
    search: 0.025,
    tiers: {
      priority: { input: 2.5, cachedInput: 0.25, output: 20 },
      flex: { input: 0.625, cachedInput: 0.0625, output: 5 },
    },
  },
  // The list prices of xAI: the bill is the one of the recording.
  grok: { input: 1.25, cachedInput: 0.2, output: 2.5, search: 0.005, execution: 0.005 },
  sandbox: { input: 3, output: 15, search: 0.01, execution: 0.007 },
  keeper: { input: 2, cachedInput: 0.2, cacheWrite: 2.5, cacheWrite12h: 4, output: 12 },
  drawing: { input: 5, imageInput: 8, output: 1, imageOutput: 40 },
  voice: { input: 2.5, audioInput: 40, output: 10, audioOutput: 80 },
  voxtral: { input: 0.1, audioInput: 4, output: 0.3 },
  sonar: { input: 1, output: 1, search: 0.005, request: 0.006 },
  flash: { input: 0.3, cachedInput: 0.075, audioInput: 1, output: 2.5, search: 0.014 },
  pro: {
    input: 1.25,
    cachedInput: 0.31,
    output: 10,
    longContext: { above: 200_000, input: 2.5, cachedInput: 0.625, output: 15 },
  },
} as const

const noCache = { cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }

export const bills: readonly Bill[] = [
  {
    title: 'input and output',
    format: 'messages',
    model: 'sonnet',
    usage: { input_tokens: 2095, output_tokens: 503, ...noCache },
    cost: (2095 * 3 + 503 * 15) / million,
  },
  {
    title: 'cache reads and five-minute writes',
    format: 'messages',
    model: 'sonnet',
    usage: {
      input_tokens: 21,
      output_tokens: 393,
      cache_read_input_tokens: 188_086,
      cache_creation_input_tokens: 1500,
    },
    cost: (21 * 3 + 188_086 * 0.3 + 1500 * 3.75 + 393 * 15) / million,
  },
  {
    title: 'writes of both lifetimes',
    format: 'messages',
    model: 'sonnet',
    usage: {
      input_tokens: 2048,
      output_tokens: 503,
      cache_read_input_tokens: 1800,
      cache_creation_input_tokens: 248,
      cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
    },
    cost: (2048 * 3 + 1800 * 0.3 + 148 * 3.75 + 100 * 6 + 503 * 15) / million,
  },
  {
    title: 'thinking is part of the output',
    format: 'messages',
    model: 'sonnet',
    usage: { input_tokens: 100, output_tokens: 900, ...noCache, output_tokens_details: { thinking_tokens: 640 } },
    cost: (100 * 3 + 900 * 15) / million,
  },
  {
    title: 'searches and fetched pages',
    format: 'messages',
    model: 'sonnet',
    usage: {
      input_tokens: 6039,
      output_tokens: 931,
      ...noCache,
      server_tool_use: { web_search_requests: 3, web_fetch_requests: 2 },
    },
    cost: (6039 * 3 + 931 * 15) / million + 3 * 0.01,
  },
  {
    title: 'code executions that the provider counts',
    format: 'messages',
    model: 'sandbox',
    usage: {
      input_tokens: 2000,
      output_tokens: 300,
      ...noCache,
      server_tool_use: { web_search_requests: 1, code_execution_requests: 4 },
    },
    cost: (2000 * 3 + 300 * 15) / million + 0.01 + 4 * 0.007,
  },
  {
    title: 'a compaction, which the counts leave out',
    format: 'messages',
    model: 'sonnet',
    usage: {
      input_tokens: 23_000,
      output_tokens: 1000,
      ...noCache,
      iterations: [
        { type: 'compaction', input_tokens: 180_000, output_tokens: 3500, ...noCache },
        { type: 'message', input_tokens: 23_000, output_tokens: 1000, ...noCache },
      ],
    },
    cost: (203_000 * 3 + 4500 * 15) / million,
  },
  {
    title: 'a compaction that read from the cache',
    format: 'messages',
    model: 'sonnet',
    usage: {
      input_tokens: 10,
      output_tokens: 5,
      ...noCache,
      iterations: [
        {
          type: 'compaction',
          input_tokens: 1,
          output_tokens: 701,
          cache_read_input_tokens: 7000,
          cache_creation_input_tokens: 0,
        },
        { type: 'message', input_tokens: 10, output_tokens: 5, ...noCache },
      ],
    },
    cost: (11 * 3 + 7000 * 0.3 + 706 * 15) / million,
  },
  {
    title: 'an advisor of another model',
    format: 'messages',
    model: 'haiku',
    usage: {
      input_tokens: 412,
      output_tokens: 531,
      ...noCache,
      iterations: [
        { type: 'message', model: 'haiku', input_tokens: 412, output_tokens: 89, ...noCache },
        { type: 'advisor_message', model: 'opus', input_tokens: 823, output_tokens: 1612, ...noCache },
        { type: 'message', model: 'haiku', input_tokens: 0, output_tokens: 442, ...noCache },
      ],
    },
    cost: (412 * 1 + 531 * 5 + 823 * 5 + 1612 * 25) / million,
  },
  {
    title: 'a fallback to another model',
    format: 'messages',
    model: 'opus',
    usage: {
      input_tokens: 1200,
      output_tokens: 420,
      ...noCache,
      iterations: [
        { type: 'message', model: 'opus', input_tokens: 1200, output_tokens: 8, ...noCache },
        { type: 'fallback_message', model: 'sonnet', input_tokens: 1200, output_tokens: 420, ...noCache },
      ],
    },
    cost: (1200 * 5 + 8 * 25 + 1200 * 3 + 420 * 15) / million,
  },
  {
    title: 'a loop of tools, whose runs are in the counts',
    format: 'messages',
    model: 'haiku',
    usage: {
      input_tokens: 3000,
      output_tokens: 300,
      ...noCache,
      iterations: [
        { type: 'message', model: 'haiku-20251001', input_tokens: 1000, output_tokens: 100, ...noCache },
        { type: 'message', model: 'haiku-20251001', input_tokens: 2000, output_tokens: 200, ...noCache },
      ],
    },
    cost: (3000 * 1 + 300 * 5) / million,
  },
  {
    title: 'fast mode',
    format: 'messages',
    model: 'opus',
    usage: { input_tokens: 1000, output_tokens: 2000, ...noCache, speed: 'fast', service_tier: 'standard' },
    cost: (1000 * 30 + 2000 * 150) / million,
  },
  {
    title: 'the batch tier',
    format: 'messages',
    model: 'sonnet',
    usage: { input_tokens: 1000, output_tokens: 2000, cache_read_input_tokens: 500, service_tier: 'batch' },
    cost: (1000 * 1.5 + 500 * 0.15 + 2000 * 7.5) / million,
  },
  {
    title: 'the priority tier of messages, with usual prices of its cache',
    format: 'messages',
    model: 'sonnet',
    usage: { input_tokens: 1000, output_tokens: 2000, cache_read_input_tokens: 500, service_tier: 'priority' },
    cost: (1000 * 4 + 500 * 0.3 + 2000 * 20) / million,
  },
  {
    title: 'a long context, cached input included',
    format: 'messages',
    model: 'sonnet',
    usage: { input_tokens: 1000, output_tokens: 500, cache_read_input_tokens: 199_001, cache_creation_input_tokens: 0 },
    cost: (1000 * 6 + 199_001 * 0.6 + 500 * 22.5) / million,
  },
  {
    title: 'two runs below the limit of a long context',
    format: 'messages',
    model: 'sonnet',
    usage: {
      input_tokens: 240_000,
      output_tokens: 200,
      ...noCache,
      iterations: [
        { type: 'message', input_tokens: 120_000, output_tokens: 100, ...noCache },
        { type: 'message', input_tokens: 120_000, output_tokens: 100, ...noCache },
      ],
    },
    cost: (240_000 * 3 + 200 * 15) / million,
  },
  {
    title: 'cached input and reasoning',
    format: 'responses',
    model: 'gpt',
    usage: {
      input_tokens: 2006,
      input_tokens_details: { cached_tokens: 1920 },
      output_tokens: 300,
      output_tokens_details: { reasoning_tokens: 256 },
      total_tokens: 2306,
    },
    cost: (86 * 1.25 + 1920 * 0.125 + 300 * 10) / million,
  },
  {
    title: 'searches by their number of requests, not by their items',
    format: 'responses',
    model: 'gpt',
    usage: { input_tokens: 9000, output_tokens: 700, total_tokens: 9700 },
    response: { tool_usage: { web_search: { num_requests: 2 }, image_gen: { input_tokens: 0, output_tokens: 0 } } },
    cost: (9000 * 1.25 + 700 * 10) / million + 2 * 0.025,
  },
  {
    title: 'searches that xAI counts in the usage, as it billed them',
    format: 'responses',
    model: 'grok',
    usage: {
      input_tokens: 5689,
      input_tokens_details: { cached_tokens: 2048 },
      output_tokens: 444,
      output_tokens_details: { reasoning_tokens: 245 },
      total_tokens: 6133,
      num_server_side_tools_used: 2,
      cost_in_usd_ticks: 160_708_500,
      server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 0, code_interpreter_calls: 0 },
    },
    // A US dollar is 10¹⁰ ticks.
    cost: 160_708_500 / 1e10,
  },
  {
    title: 'code executions next to searches of the web and of posts',
    format: 'responses',
    model: 'grok',
    usage: {
      input_tokens: 4000,
      output_tokens: 600,
      total_tokens: 4600,
      num_server_side_tools_used: 6,
      server_side_tool_usage_details: { web_search_calls: 1, x_search_calls: 2, code_interpreter_calls: 3 },
    },
    cost: (4000 * 1.25 + 600 * 2.5) / million + 3 * 0.005 + 3 * 0.005,
  },
  {
    title: 'image generation of another model',
    format: 'responses',
    model: 'gpt',
    usage: { input_tokens: 300, output_tokens: 40, total_tokens: 340 },
    response: {
      tools: [{ type: 'image_generation', model: 'drawing' }],
      tool_usage: {
        image_gen: {
          input_tokens: 450,
          input_tokens_details: { image_tokens: 400, text_tokens: 50 },
          output_tokens: 4160,
          output_tokens_details: { image_tokens: 4160, text_tokens: 0 },
          total_tokens: 4610,
        },
        web_search: { num_requests: 0 },
      },
    },
    cost: (300 * 1.25 + 40 * 10 + 400 * 8 + 50 * 5 + 4160 * 40) / million,
  },
  {
    title: 'writes for 30 minutes and for twelve hours',
    format: 'responses',
    model: 'keeper',
    usage: {
      input_tokens: 9000,
      input_tokens_details: {
        cached_tokens: 2000,
        cache_write_tokens: 6000,
        cache_write_tokens_details: { ttl_12h_tokens: 4000, ttl_30m_tokens: 2000 },
      },
      output_tokens: 100,
      total_tokens: 9100,
    },
    cost: (1000 * 2 + 2000 * 0.2 + 2000 * 2.5 + 4000 * 4 + 100 * 12) / million,
  },
  {
    title: 'the priority tier of responses',
    format: 'responses',
    model: 'gpt',
    usage: { input_tokens: 1000, input_tokens_details: { cached_tokens: 400 }, output_tokens: 100, total_tokens: 1100 },
    response: { service_tier: 'priority' },
    cost: (600 * 2.5 + 400 * 0.25 + 100 * 20) / million,
  },
  {
    title: 'the flex tier of responses',
    format: 'responses',
    model: 'gpt',
    usage: { input_tokens: 1000, output_tokens: 100, total_tokens: 1100 },
    response: { service_tier: 'flex' },
    cost: (1000 * 0.625 + 100 * 5) / million,
  },
  {
    title: 'the default tier, which has no prices of its own',
    format: 'responses',
    model: 'gpt',
    usage: { input_tokens: 1000, output_tokens: 100, total_tokens: 1100 },
    response: { service_tier: 'default' },
    cost: (1000 * 1.25 + 100 * 10) / million,
  },
  {
    title: 'cached input and reasoning',
    format: 'chat',
    model: 'gpt',
    usage: {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920, audio_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: 192, audio_tokens: 0 },
    },
    cost: (86 * 1.25 + 1920 * 0.125 + 300 * 10) / million,
  },
  {
    title: 'the flex tier of chat',
    format: 'chat',
    model: 'gpt',
    usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    response: { service_tier: 'flex' },
    cost: (1000 * 0.625 + 100 * 5) / million,
  },
  {
    title: 'audio in and out',
    format: 'chat',
    model: 'voice',
    usage: {
      prompt_tokens: 119,
      completion_tokens: 195,
      total_tokens: 314,
      prompt_tokens_details: { audio_tokens: 99, cached_tokens: 0, text_tokens: 20 },
      completion_tokens_details: { audio_tokens: 157, text_tokens: 38 },
    },
    cost: (20 * 2.5 + 99 * 40 + 38 * 10 + 157 * 80) / million,
  },
  {
    title: 'audio that only the total counts',
    format: 'chat',
    model: 'voxtral',
    usage: { prompt_audio_seconds: 30, prompt_tokens: 12, completion_tokens: 201, total_tokens: 588 },
    cost: (12 * 0.1 + 375 * 4 + 201 * 0.3) / million,
  },
  {
    title: 'searches, and a price of the request',
    format: 'chat',
    model: 'sonar',
    usage: { prompt_tokens: 14, completion_tokens: 70, total_tokens: 84, num_search_queries: 2 },
    cost: (14 * 1 + 70 * 1) / million + 2 * 0.005 + 0.006,
  },
  {
    title: 'reasoning that only the total counts',
    format: 'chat',
    model: 'gpt',
    usage: {
      prompt_tokens: 32,
      completion_tokens: 9,
      total_tokens: 141,
      completion_tokens_details: { reasoning_tokens: 100 },
    },
    cost: (32 * 1.25 + 109 * 10) / million,
  },
  {
    title: 'thoughts beside the candidates',
    format: 'gemini',
    model: 'flash',
    usage: { promptTokenCount: 11, candidatesTokenCount: 25, thoughtsTokenCount: 400, totalTokenCount: 436 },
    cost: (11 * 0.3 + 425 * 2.5) / million,
  },
  {
    title: 'cached input and audio',
    format: 'gemini',
    model: 'flash',
    usage: {
      promptTokenCount: 5000,
      cachedContentTokenCount: 4096,
      candidatesTokenCount: 100,
      totalTokenCount: 5100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 4400 },
        { modality: 'AUDIO', tokenCount: 600 },
      ],
    },
    cost: (4096 * 0.075 + 600 * 1 + 304 * 0.3 + 100 * 2.5) / million,
  },
  {
    title: 'cached audio by its own count',
    format: 'gemini',
    model: 'flash',
    usage: {
      promptTokenCount: 5000,
      cachedContentTokenCount: 4096,
      candidatesTokenCount: 100,
      totalTokenCount: 5100,
      promptTokensDetails: [
        { modality: 'TEXT', tokenCount: 1400 },
        { modality: 'AUDIO', tokenCount: 3600 },
      ],
      cacheTokensDetails: [
        { modality: 'TEXT', tokenCount: 1000 },
        { modality: 'AUDIO', tokenCount: 3096 },
      ],
    },
    cost: (4096 * 0.075 + 504 * 1 + 400 * 0.3 + 100 * 2.5) / million,
  },
  {
    title: 'searches by their queries',
    format: 'gemini',
    model: 'flash',
    usage: { promptTokenCount: 50, candidatesTokenCount: 200, toolUsePromptTokenCount: 80, totalTokenCount: 330 },
    response: { groundingMetadata: { webSearchQueries: ['weather in Oslo', 'Oslo forecast'] } },
    cost: (130 * 0.3 + 200 * 2.5) / million + 2 * 0.014,
  },
  {
    title: 'a long context',
    format: 'gemini',
    model: 'pro',
    usage: { promptTokenCount: 250_000, candidatesTokenCount: 1000, totalTokenCount: 251_000 },
    cost: (250_000 * 2.5 + 1000 * 15) / million,
  },
]
