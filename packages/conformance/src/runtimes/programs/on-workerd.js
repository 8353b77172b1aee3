import { env } from 'cloudflare:workers'
import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'

const site = createSite(settingFrom(env))

export default {
  /** @type {(request: Request, env: unknown, context: { waitUntil(work: Promise<unknown>): void }) => Promise<Response>} */
  fetch(request, bindings, context) {
    const answer = site.fetch(request, bindings, context)
    // Keeps the worker alive until the call is settled, even if the client disconnects, so that plugins are notified.
    context.waitUntil(answer.catch(() => {}))
    return answer
  },
}
