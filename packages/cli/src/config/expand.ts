import type { Env } from '../world.ts'
import { isRecord } from './is-record.ts'
import { type ReportProblem, throwProblem } from './problem-list.ts'

const variable = /\$(\$\{)|\$\{([^}]*)\}/g

/**
 * The same data with `${NAME}` and `${NAME:-default}` in its texts replaced from the environment; `$${` stands for `${`. A variable
 * that is set to nothing is not set.
 *
 * @param report receives the name and the place of each variable that is not set; its text stays as it is
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
      report(`${where} holds ${whole}: write \${NAME} or \${NAME:-default}`)
      return whole
    }
    const value = env[name] || otherwise
    if (value === undefined) {
      report(
        `${where} takes ${name} from the environment, where it is not set: export ${name}=…, write it into .env, or give a default, \${${name}:-…}`,
      )
      return whole
    }
    return value
  })
