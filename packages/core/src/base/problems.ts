/** Reports one problem of a configuration, with what to write instead. */
export type ReportProblem = (message: string) => void

/** A configuration with one or more problems. The command reads `problems` to print each on a line of its own. */
class ConfigurationError extends TypeError {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    const [only = ''] = problems
    super(
      problems.length === 1
        ? only
        : `The configuration has ${problems.length} problems:\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    )
    this.problems = problems
  }
}

/**
 * Runs all checks of a configuration, and throws one TypeError with every problem that they report or throw.
 *
 * A check that throws a TypeError ends there; the others still run.
 */
export function reportAllProblems(...checks: readonly ((report: ReportProblem) => void)[]): void {
  const problems: string[] = []
  const report: ReportProblem = (message) => problems.push(message)
  for (const check of checks) {
    try {
      check(report)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      report(error.message)
    }
  }
  if (problems.length > 0) throw new ConfigurationError(problems)
}

/** Reports unknown fields: a misspelled setting would silently have no effect. */
export function known(given: object, names: readonly string[], where: string, report: ReportProblem): void {
  for (const name of Object.keys(given))
    if (!names.includes(name)) {
      const meant = names.find((one) => letters(one) === letters(name))
      const advice = meant === undefined ? '' : ` Did you mean '${meant}'?`
      report(`${where}.${name} is unknown.${advice} Known fields: ${names.join(', ')}`)
    }
}

/** `max_output` and `maxoutput` are probably `maxOutput`. */
const letters = (name: string): string => name.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()
