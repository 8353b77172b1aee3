import type { Env } from '../terminal/command-context.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'

const variable = /\$(\$\{)|\$\{([^}]*)\}/g

/**
 * Replaces `${NAME}` and `${NAME:-default}` in the strings of a value from the environment; `$${` escapes `${`. An empty variable
 * counts as unset.
 *
 * @param report receives the name and location of each unset variable; its string stays unchanged
 */
export function expand(data: unknown, env: Env, report: ReportProblem = throwProblem, where = ''): unknown {
  if (typeof data === 'string') return expandText(data, env, report, where)
  if (Array.isArray(data)) return data.map((one, at) => expand(one, env, report, `${where}[${at}]`))
  if (!isRecord(data)) return data
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [
      name,
      expand(value, env, report, where === '' ? name : `${where}.${name}`),
    ]),
  )
}

const expandText = (text: string, env: Env, report: ReportProblem, where: string): string =>
  text.replace(variable, (whole, escaped: string | undefined, inside = '') => {
    if (escaped !== undefined) return escaped
    const [, name = '', , otherwise] = /^([A-Za-z_]\w*)(:-(.*))?$/s.exec(inside) ?? []
    if (name === '') {
      report(`${where} contains the invalid reference ${whole}: write \${NAME} or \${NAME:-default}`)
      return whole
    }
    const value = env[name] || otherwise
    if (value === undefined) {
      report(
        `${where} needs the environment variable ${name}, which is not set: run 'export ${name}=…', add it to .env, or set a default with \${${name}:-…}`,
      )
      return whole
    }
    return value
  })

/** Returns true for objects other than arrays. */
export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
