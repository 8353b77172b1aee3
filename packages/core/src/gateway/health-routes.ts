// `@modelgate/core/health`: endpoints for load balancers and container platforms.
import { decide, logOncePerMinute } from '../base/callbacks.ts'
import { GatewayError } from '../base/errors.ts'
import type { AuthRequest, Logger } from '../config/config.ts'
import type { GatewayStatus, Plugin, PluginHost } from '../config/plugin.ts'
import type { Inbound, Reply } from '../http/inbound.ts'
import { type CheckResult, createCheckRunner, type ReadinessCheck } from './readiness-check.ts'

export type { CheckResult, ReadinessCheck }

/** Options of `healthRoutes`. */
export interface HealthOptions {
  /**
   * Returns whether a request to `/readyz` may see the names and states of upstreams and checks. Only `true` permits it; all other
   * requests receive the status alone. Default: none may.
   */
  authorize?(request: AuthRequest): boolean | Promise<boolean>
  /** Further dependencies that must work, by name. Each runs at most once per second: `{ redis: () => client.ping() }`. */
  checks?: Readonly<Record<string, ReadinessCheck>>
  /** Milliseconds for each check and for `authorize`. Default: 800, because Kubernetes waits 1 s for a probe. */
  timeoutMs?: number
  /** Receives a warning when a check begins to fail and when it passes again. Default: `console`. `false` logs nothing. */
  logger?: Logger | false
}

/** Body of the response to an authorized `GET /readyz`. Other callers receive `status` only. */
export interface Readiness extends GatewayStatus {
  /** `'ready'` is sent with the HTTP status 200, `'unavailable'` with 503. */
  readonly status: 'ready' | 'unavailable'
  readonly checks: readonly CheckResult[]
}

/**
 * Creates a plugin with two endpoints that need no token. `GET /healthz` returns 200 while the process responds. `GET /readyz` returns 200 if
 * the gateway can serve calls. It returns 503 during a graceful shutdown, while no upstream is available, and
 * while a check fails. Neither calls an upstream.
 *
 * @throws TypeError for invalid options
 *
 * @example
 * createGateway({ …, plugins: [healthRoutes({ checks: { redis: () => client.ping() } })] })
 */
export function healthRoutes(options: HealthOptions = {}): Plugin {
  const { authorize, checks = {}, timeoutMs = 800, logger = console } = options
  const log: Logger = logger === false ? silent : logger
  if (authorize !== undefined && typeof authorize !== 'function')
    throw new TypeError('healthRoutes: authorize must be a function that returns true or false: ({ header }) => …')
  if (!Number.isFinite(timeoutMs) || timeoutMs <= 0)
    throw new TypeError(`healthRoutes: timeoutMs is ${timeoutMs}; it must be a number of milliseconds above 0`)
  const runners = Object.entries(checks).map(([name, check]) => {
    if (typeof check !== 'function')
      throw new TypeError(`healthRoutes: the check '${name}' must be a function: { ${name}: () => client.ping() }`)
    return createCheckRunner(name, check, timeoutMs, log)
  })
  let host: PluginHost | undefined

  const isAuthorized = async (inbound: Inbound): Promise<boolean> => {
    if (authorize === undefined) return false
    const { method, path } = inbound
    try {
      const allowed = authorize({ method, path, header: (name) => inbound.header(name.toLowerCase()) })
      return await decide(allowed, log, {
        name: 'authorize of healthRoutes',
        ms: timeoutMs,
        fix: 'Settle sooner, or raise timeoutMs.',
      })
    } catch (error) {
      // The status does not depend on it: otherwise a failing session store would take the gateway out of service.
      if (!(error instanceof GatewayError))
        logOncePerMinute(log, 'modelgate: authorize of healthRoutes failed, so the request is anonymous.', error)
      return false
    }
  }

  const readiness = async (inbound: Inbound): Promise<Reply> => {
    const [mayRead, ...results] = await Promise.all([isAuthorized(inbound), ...runners.map((run) => run())])
    // Read last: a shutdown that began while the checks ran counts.
    const gateway = host?.status()
    const isReady = gateway !== undefined && canServe(gateway) && results.every(({ ok }) => ok)
    const status = isReady ? 'ready' : 'unavailable'
    const body =
      mayRead && gateway !== undefined ? ({ status, ...gateway, checks: results } satisfies Readiness) : { status }
    return jsonReply(isReady ? 200 : 503, body)
  }

  return {
    name: 'health',
    onStart(gateway) {
      host = gateway
    },
    routes: [
      { method: 'GET', path: '/healthz', whileDraining: true, handle: () => jsonReply(200, { status: 'ok' }) },
      { method: 'GET', path: '/readyz', whileDraining: true, handle: readiness },
    ],
  }
}

const silent: Logger = { warn() {}, error() {} }

const canServe = ({ draining, upstreams }: GatewayStatus): boolean =>
  !draining && upstreams.some(({ available }) => available)

const jsonReply = (status: number, body: object): Reply => ({
  status,
  headers: {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  },
  body: JSON.stringify(body),
})
