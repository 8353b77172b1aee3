// Starts and controls the delaying proxy.
import { startChild } from '../process.js'

/**
 * @typedef {object} DelayProxy
 * @property {(process: number) => string} urlFor returns the address for a gateway: odd ones can be cut off
 * @property {(ms: number) => Promise<void>} setRoundTrip
 * @property {(isCutOff: boolean) => Promise<void>} cutOffHalf
 * @property {() => Promise<void>} close
 */

/** @param {number} target port of Redis @param {number} [roundTripMs] @returns {Promise<DelayProxy>} */
export async function startDelayProxy(target, roundTripMs = 0) {
  const child = startChild('fleet/delay-proxy-child.js')
  const { ports } = await child.ask()
  await child.ask({ target, roundTripMs })
  return {
    urlFor: (process) => `redis://127.0.0.1:${ports[process % 2]}`,
    setRoundTrip: (ms) => child.ask({ roundTripMs: ms }),
    cutOffHalf: (isCutOff) => child.ask({ isCutOff }),
    close: child.stop,
  }
}
