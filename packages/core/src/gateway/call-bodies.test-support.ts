import type { CallBodies } from '../config/call-bodies.ts'
import type { GatewayConfig } from '../config/config.ts'
import type { Plugin } from '../config/plugin.ts'
import { type Answer, setUp } from './create-gateway.test-support.ts'

/** Creates a gateway with a plugin that collects bodies. `bodies` resolves with those of the first call. */
export function capturing(
  answers: { [host: string]: Answer },
  config: Partial<GatewayConfig> = {},
  own: Partial<Plugin> = {},
) {
  const all: CallBodies[] = []
  let wake = (): void => {}
  const plugin: Plugin = {
    name: 'bodies',
    onBodies(bodies) {
      all.push(bodies)
      wake()
    },
    ...own,
  }
  const bodies = async (count = 1): Promise<CallBodies> => {
    while (all.length < count) await new Promise<void>((resolve) => (wake = resolve))
    return all[count - 1] as CallBodies
  }
  return { ...setUp(answers, { plugins: [plugin], ...config }), all, bodies }
}
