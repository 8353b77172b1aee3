import { ConfigurationError, FlagOrEnvironmentError, problemsOf } from '../terminal/errors.ts'

/** Reports one problem and the expected value. */
export type ReportProblem = (message: string) => void

/** Throws the first problem, for callers that do not collect them. */
export const throwProblem: ReportProblem = (message) => {
  throw new Error(message)
}

/** Collects the problems of one configuration, to report them all at once. */
export class ProblemList {
  readonly #inFile: string[] = []
  /** Problems of flags and of the environment. */
  readonly #outside: string[] = []

  get isEmpty(): boolean {
    return this.#inFile.length + this.#outside.length === 0
  }

  readonly report: ReportProblem = (message) => {
    this.#inFile.push(message)
  }

  /** Runs a check. If it throws, the error is added and the result is undefined. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work()
    } catch (error) {
      const list = error instanceof FlagOrEnvironmentError ? this.#outside : this.#inFile
      list.push(...problemsOf(error))
      return undefined
    }
  }

  /** Creates the error that lists all problems. @param file name of the configuration file */
  toError(file: string | undefined): ConfigurationError {
    // A setting with an unset variable is reported once; its other problems follow from that.
    const unset = this.#inFile.flatMap(
      (problem) => /^\S+ needs the environment variable (\w+),/.exec(problem)?.[1] ?? [],
    )
    const relevant = this.#inFile.filter((problem) => !unset.some((name) => problem.includes(`\${${name}}`)))
    return new ConfigurationError([
      ...new Set([
        ...relevant.map((problem) => (file === undefined ? problem : `${file}: ${problem}`)),
        ...this.#outside,
      ]),
    ])
  }
}
