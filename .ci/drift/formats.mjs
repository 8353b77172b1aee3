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
    // To a stream of chat the gateway adds that it wants the usage.
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
    // The SDK puts these beside the contents, and keeps the last ones to itself.
    declarations: `
      type TopLevel = 'systemInstruction' | 'tools' | 'toolConfig' | 'safetySettings' | 'cachedContent' | 'labels' | 'serviceTier' | 'modelArmorConfig'
      type OfTheSdk = 'httpOptions' | 'abortSignal' | 'automaticFunctionCalling' | 'shouldReturnHttpResponse'`,
  },
}

/** Members of the SDKs' classes that are on no wire. */
export const ofTheSdk = new Set(['sdkHttpResponse', '_request_id', 'output_text', 'parsed', 'output_parsed'])

/** Fields whose values are no names of a format: there are new models every week. */
export const unlisted = new Set(['model'])
