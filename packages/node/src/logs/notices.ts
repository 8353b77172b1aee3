import type { GatewayNotice } from '@modelgate/core'
import { describeKind, describeMessage, levelOfStatus } from './call-failures.ts'
import type { Fields } from './json-line.ts'
import type { LineLevel } from './levels.ts'
import { duration } from './pretty-line.ts'
import { maxLength, toLine } from './text.ts'

/** The line of a notice. */
export interface NoticeLine {
  readonly level: LineLevel
  readonly message: string
  /** Members of the JSON line. */
  readonly fields: Fields
}

const plural = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

/** Returns the line of a notice. */
export function noticeLine(notice: GatewayNotice): NoticeLine {
  switch (notice.kind) {
    case 'call-rejected': {
      const { kind, requestId, identity, method, path, operation, status, error, message, durationMs } = notice
      return {
        level: levelOfStatus(status),
        message: `${toLine(method)} ${toLine(path)} ${status}: ${error}: ${describeMessage(message)}`,
        fields: {
          event: kind,
          requestId,
          ...(identity === null ? {} : { identity: identity.id }),
          ...(identity !== null && typeof identity.name === 'string' ? { token: identity.name } : {}),
          method: method.slice(0, maxLength),
          path: path.slice(0, maxLength),
          ...(operation === undefined ? {} : { operation }),
          status,
          error,
          durationMs: Math.round(durationMs * 10) / 10,
        },
      }
    }
    case 'circuit-opened':
    case 'circuit-half-open':
    case 'circuit-closed': {
      const { kind, upstream, model, forMs } = notice
      const target = `${toLine(upstream)}/${toLine(model)}`
      const wait = forMs === undefined ? '' : ` for ${duration(forMs)}`
      const [level, message] = (
        {
          'circuit-opened': ['warn', `Circuit breaker of ${target} opened: it receives no calls${wait}`],
          'circuit-half-open': ['debug', `Circuit breaker of ${target} is half-open: one trial call is allowed`],
          'circuit-closed': ['info', `Circuit breaker of ${target} closed: it receives calls again`],
        } as const
      )[kind]
      return { level, message, fields: { event: kind, upstream, model, ...(forMs === undefined ? {} : { forMs }) } }
    }
    case 'cooldown-started': {
      const { kind, upstream, model, key, forMs, error } = notice
      const target = `${toLine(upstream)}${model === undefined ? '' : `/${toLine(model)}`}${key === undefined ? '' : ` key ${key}`}`
      return {
        // The line of the call that received the error is the warning.
        level: 'debug',
        message: `Cooldown of ${target} for ${duration(forMs)}: ${describeKind(error)}`,
        fields: {
          event: kind,
          upstream,
          ...(model === undefined ? {} : { model }),
          ...(key === undefined ? {} : { key }),
          forMs,
          error,
        },
      }
    }
    case 'reconfigured': {
      const { kind, upstreams } = notice
      return {
        level: 'info',
        message: `Configuration reloaded. Upstreams: ${upstreams.map(toLine).join(', ')}`,
        fields: { event: kind, upstreams },
      }
    }
    case 'drain-started': {
      const { kind, activeCalls } = notice
      return {
        level: 'info',
        message: `Shutting down: draining ${plural(activeCalls, 'in-flight request')}`,
        fields: { event: kind, activeCalls },
      }
    }
  }
}
