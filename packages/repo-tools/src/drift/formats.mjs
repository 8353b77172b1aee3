/**
 * The types that hold the names of each format: what a client may send, a whole answer, and the events of a stream. `null`: the
 * stream's events are whole answers.
 */
export const packages = {
  openai: 'openai@latest',
  anthropic: '@anthropic-ai/sdk@latest',
  google: '@google/genai@latest',
}

const chat = 'openai/resources/chat/completions/completions'
const responses = 'openai/resources/responses/responses'
const messages = '@anthropic-ai/sdk/resources/beta/messages/messages'

/** @type {Readonly<Record<string, { request: string, answer: string, event: string | null, declarations?: string }>>} */
export const formats = {
  chat: {
    // The gateway adds `stream_options` to streaming chat requests.
    request: `import('${chat}').ChatCompletionCreateParamsNonStreaming & Pick<import('${chat}').ChatCompletionCreateParamsStreaming, 'stream_options'>`,
    answer: `import('${chat}').ChatCompletion`,
    event: `import('${chat}').ChatCompletionChunk`,
  },
  messages: {
    request: `import('${messages}').MessageCreateParamsNonStreaming`,
    answer: `import('${messages}').BetaMessage`,
    event: `import('${messages}').BetaRawMessageStreamEvent`,
  },
  responses: {
    request: `import('${responses}').ResponseCreateParamsNonStreaming`,
    answer: `import('${responses}').Response`,
    event: `import('${responses}').ResponseStreamEvent`,
  },
  gemini: {
    request: `{
      contents: import('@google/genai').Content[]
      generationConfig: Omit<import('@google/genai').GenerateContentConfig, TopLevel | OfTheSdk>
    } & Pick<import('@google/genai').GenerateContentConfig, TopLevel>`,
    answer: `import('@google/genai').GenerateContentResponse`,
    event: null,
    // The SDK moves these out of the body; the last ones are never sent.
    declarations: `
      type TopLevel = 'systemInstruction' | 'tools' | 'toolConfig' | 'safetySettings' | 'cachedContent' | 'labels' | 'serviceTier' | 'modelArmorConfig'
      type OfTheSdk = 'httpOptions' | 'abortSignal' | 'automaticFunctionCalling' | 'shouldReturnHttpResponse'`,
  },
}

/** Members of SDK classes that are never sent. */
export const ofTheSdk = new Set(['sdkHttpResponse', '_request_id', 'output_text', 'parsed', 'output_parsed'])

/** Fields whose values are not part of a format, such as model names. */
export const unlisted = new Set(['model'])
