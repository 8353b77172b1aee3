// Runs the official SDKs inside the runtime, with the gateway as their `fetch`: no server and no socket.
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'

/** Result of one attempt; `wrong` is null if it succeeded. @typedef {{ name: string, wrong: string | null }} Tried */

export const models = ['chat-model', 'messages-model', 'gemini-model', 'responses-model']
const wanted = 'reply in process'
const content = `[[say:${wanted}]]`

/**
 * @param {string} name @param {() => Promise<unknown>} attempt resolves to the received text
 * @returns {Promise<Tried>}
 */
export async function tried(name, attempt, expected = wanted) {
  try {
    const result = await attempt()
    return { name, wrong: result === expected ? null : `returned ${JSON.stringify(result)}` }
  } catch (error) {
    return { name, wrong: error instanceof Error ? `${error.name}: ${error.message}` : String(error) }
  }
}

/**
 * @param {import('@modelgate/core').Gateway} gateway @param {string} apiKey
 * @returns {Promise<Tried[]>}
 */
export async function inProcess(gateway, apiKey) {
  const { fetch } = gateway
  const chat = new OpenAI({ apiKey, baseURL: 'http://gateway/v1', fetch, maxRetries: 0 })
  const messages = new Anthropic({ apiKey, baseURL: 'http://gateway', fetch, maxRetries: 0 })
  /** @type {Tried[]} */
  const all = []
  for (const model of models) {
    const conversation = [/** @type {const} */ ({ role: 'user', content })]
    all.push(
      await tried(`openai, chat, ${model}`, async () => {
        const { choices } = await chat.chat.completions.create({ model, messages: conversation })
        return choices[0]?.message.content
      }),
      await tried(`openai, chat, ${model}, streamed`, async () => {
        const stream = chat.chat.completions.stream({ model, messages: conversation })
        return (await stream.finalChatCompletion()).choices[0]?.message.content
      }),
      await tried(`openai, responses, ${model}`, async () => {
        const { output_text } = await chat.responses.create({ model, input: content })
        return output_text
      }),
      await tried(`openai, responses, ${model}, streamed`, async () => {
        const stream = chat.responses.stream({ model, input: content })
        return (await stream.finalResponse()).output_text
      }),
      await tried(`anthropic, ${model}`, async () => {
        const message = await messages.messages.create({ model, max_tokens: 100, messages: conversation })
        return message.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      }),
      await tried(`anthropic, ${model}, streamed`, async () => {
        const stream = messages.messages.stream({ model, max_tokens: 100, messages: conversation })
        return stream.finalText()
      }),
    )
  }
  all.push(
    await tried(
      'an unknown token causes a typed error',
      async () => {
        const stranger = new OpenAI({ apiKey: 'nobody', baseURL: 'http://gateway/v1', fetch, maxRetries: 0 })
        const pending = stranger.chat.completions.create({ model: 'chat-model', messages: [{ role: 'user', content }] })
        return pending.then(
          () => 'a response',
          (error) => (error instanceof OpenAI.AuthenticationError ? 'AuthenticationError' : String(error)),
        )
      },
      'AuthenticationError',
    ),
    await tried(
      'a stream that the client aborts',
      async () => {
        const stream = messages.messages.stream({
          model: 'chat-model',
          max_tokens: 100_000,
          messages: [{ role: 'user', content: '[[words:100000]] [[slow:3]]' }],
        })
        for await (const event of stream) if (event.type === 'content_block_delta') break
        return 'left'
      },
      'left',
    ),
  )
  return all
}
