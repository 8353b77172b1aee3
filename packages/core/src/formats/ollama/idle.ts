import type { Json, JsonObject } from '../../base/json/json.ts'
import type { ResponseWithoutModel } from '../codec.ts'

/**
 * Returns the response to a request without a prompt, which asks a server to load a model, or to unload it with `keep_alive: 0`. The gateway
 * does neither; clients only wait for the response. Undefined for requests with a prompt.
 *
 * @param prompt the messages, or the text of the prompt
 * @param message the empty message of the response
 * @param now seconds since 1970
 */
function idleResponse(
  { model = '', keep_alive: keepAlive }: JsonObject,
  prompt: Json | undefined,
  message: JsonObject,
  now: number,
): JsonObject | undefined {
  const isEmpty =
    prompt === undefined || prompt === null || prompt === '' || (Array.isArray(prompt) && prompt.length === 0)
  if (!isEmpty) return undefined
  const unloads = keepAlive === 0 || (typeof keepAlive === 'string' && /^0[a-z]*$/.test(keepAlive))
  return {
    model,
    created_at: new Date(now * 1000).toISOString(),
    ...message,
    done: true,
    done_reason: unloads ? 'unload' : 'load',
  }
}

/** Returns the response of `/api/chat` to a request without messages. */
export const idleChatResponse: ResponseWithoutModel = (body, now) =>
  idleResponse(body, body.messages, { message: { role: 'assistant', content: '' } }, now)

/** Returns the response of `/api/generate` to a request without a prompt. */
export const idleGenerateResponse: ResponseWithoutModel = (body, now) =>
  idleResponse(body, body.prompt, { response: '' }, now)
