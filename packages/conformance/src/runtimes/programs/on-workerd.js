import { env } from 'cloudflare:workers'
import { createSite } from './gateways.js'
import { settingFrom } from './setting.js'

const site = createSite(settingFrom(env))

export default {
  /** @type {(request: Request, env: unknown, context: { waitUntil(work: Promise<unknown>): void }) => Promise<Response>} */
  fetch(request, bindings, context) {
    const answer = site.fetch(request, bindings, context)
    // A call whose client leaves ends well, and plugins are told of it.
    context.waitUntil(answer.catch(() => {}))
    return answer
  },
}
