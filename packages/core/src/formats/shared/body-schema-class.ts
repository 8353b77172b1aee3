import { cutText } from '../../base/json/outline.ts'
import { defaultMessage, Findings, type Issue, type Rule, type RuleIssue } from './body-schema-issues.ts'

/** Returns whether a value fits the schema. */
export type Acceptor = (value: unknown) => boolean

/** The type of a value: adds issues about another one, and compiles the same test without issues. */
export interface Kind {
  inspect(value: unknown, found: Findings): void
  compile(): Acceptor
  /** For discriminated unions. */
  readonly shape?: Readonly<Record<string, Schema>>
  readonly values?: readonly unknown[]
}

/** A check that runs on values of the right type. */
interface Check {
  inspect(value: unknown, found: Findings): void
  compile(): Acceptor
}

/** Description of the expected value, for messages. */
export interface Options {
  readonly error?: string
}

/** Set while an outline is judged. Checks on texts that were cut then fail. */
let outlined = false

/**
 * Runs `judge` on the outline of a body (base/json/outline.ts). Acceptors accept an outline only if they accept the body. A rejected outline
 * may still belong to a valid body.
 */
export function judgeOutline<T>(judge: () => T): T {
  outlined = true
  try {
    return judge()
  } finally {
    outlined = false
  }
}

export const judgesOutline = (): boolean => outlined

/** A schema of values of type `T`. Immutable: each method returns another schema. */
export class Schema<T = unknown> {
  declare readonly output: T
  readonly kind: Kind
  readonly #checks: readonly Check[]
  /** Whether an object may lack a field of this schema. */
  readonly isOptional: boolean
  #accepts: Acceptor | undefined

  constructor(kind: Kind, checks: readonly Check[] = [], isOptional = false) {
    this.kind = kind
    this.#checks = checks
    this.isOptional = isOptional
  }

  /** Returns whether a value fits. Compiled on first use. Values must come from JSON.parse. */
  get accepts(): Acceptor {
    if (this.#accepts === undefined) {
      // A recursive schema finds this function, which is replaced before it is called.
      let compiled: Acceptor | undefined
      this.#accepts = (value) => compiled?.(value) === true
      compiled = this.#compile()
      this.#accepts = compiled
    }
    return this.#accepts
  }

  /** Returns all issues of a value. */
  issues(value: unknown): readonly Issue[] {
    return this.find(value).issues
  }

  /** @internal */
  find(value: unknown): Findings {
    const found = new Findings()
    this.kind.inspect(value, found)
    for (const check of this.#checks) if (!found.aborted) check.inspect(value, found)
    return found
  }

  #compile(): Acceptor {
    const accepts = this.kind.compile()
    const [first, ...others] = this.#checks.map((check) => check.compile())
    if (first === undefined) return accepts
    return (value) => {
      if (!accepts(value) || (outlined && value === cutText) || !first(value)) return false
      for (const holds of others) if (!holds(value)) return false
      return true
    }
  }

  #with(check: Check): Schema<T> {
    return new Schema<T>(this.kind, [...this.#checks, check], this.isOptional)
  }

  /** Requires a value, a length or a number of elements of at least `minimum`. */
  min(minimum: number): Schema<T> {
    return this.#sized(
      (size) => size >= minimum,
      (origin) => ({ code: 'too_small', minimum, origin }),
    )
  }

  /** Requires a value, a length or a number of elements of at most `maximum`. */
  max(maximum: number): Schema<T> {
    return this.#sized(
      (size) => size <= maximum,
      (origin) => ({ code: 'too_big', maximum, origin }),
    )
  }

  #sized(fits: (size: number) => boolean, issueOf: (origin: 'number' | 'string' | 'array') => RuleIssue): Schema<T> {
    const accepts = (value: unknown): boolean => {
      const size = sizeOf(value)
      return size === undefined || fits(size)
    }
    return this.#with({
      inspect(value, found) {
        if (!accepts(value)) found.add(issueOf(originOf(value)), false)
      },
      compile: () => accepts,
    })
  }

  /** Requires an integer that a double represents exactly. */
  int({ error = defaultMessage }: Options = {}): Schema<T> {
    return this.#with({
      inspect(value, found) {
        if (!Number.isInteger(value)) found.add({ code: 'invalid_type', expected: 'int', message: error }, true)
        else if (!Number.isSafeInteger(value)) {
          const bound = Number.MAX_SAFE_INTEGER
          if ((value as number) > 0)
            found.add({ code: 'too_big', maximum: bound, origin: 'int', message: error }, false)
          else found.add({ code: 'too_small', minimum: -bound, origin: 'int', message: error }, false)
        }
      },
      compile: () => Number.isSafeInteger,
    })
  }

  /** Requires that a function returns true. @param issue details of the issue */
  refine(fits: (value: T) => boolean, issue: Omit<RuleIssue & { code: 'custom' }, 'code'> = {}): Schema<T> {
    return this.superRefine(
      (value, rule) => {
        if (!fits(value)) rule.addIssue({ ...issue, code: 'custom' })
      },
      () => fits,
    )
  }

  /**
   * Adds a rule: a function that reports issues.
   *
   * @param createAcceptor creates a faster function that returns true exactly where the rule reports no issue
   */
  superRefine(check: (value: T, rule: Rule) => void, createAcceptor?: () => (value: T) => boolean): Schema<T> {
    const inspect = (value: unknown, found: Findings): void =>
      check(value as T, { addIssue: (issue) => found.add(issue, false) })
    const run: Acceptor = (value) => {
      const found = new Findings()
      inspect(value, found)
      return found.issues.length === 0
    }
    return this.#with({ inspect, compile: () => (createAcceptor === undefined ? run : (createAcceptor() as Acceptor)) })
  }

  /** Requires that a value fits a second schema, which depends on the value. */
  and(schemaOf: (value: T) => Schema | undefined): Schema<T> {
    return this.superRefine(
      (value, rule) => {
        for (const issue of schemaOf(value)?.issues(value) ?? []) rule.addIssue(issue)
      },
      () => (value) => schemaOf(value)?.accepts(value) ?? true,
    )
  }

  /** Accepts undefined, and a missing field, too. */
  optional(): Schema<T | undefined> {
    return this.#or<T | undefined>(undefined, true)
  }

  /** Accepts null, too. */
  nullable(): Schema<T | null> {
    return this.#or<T | null>(null, this.isOptional)
  }

  /** Accepts null, undefined and a missing field, too. */
  nullish(): Schema<T | null | undefined> {
    return this.nullable().optional()
  }

  #or<U>(other: null | undefined, isOptional: boolean): Schema<U> {
    return new Schema<U>(
      {
        inspect: (value, found) => {
          if (value === other) return
          found.addAll(this.find(value))
        },
        compile: () => {
          const { accepts } = this
          return (value) => value === other || accepts(value)
        },
      },
      [],
      isOptional,
    )
  }
}

const sizeOf = (value: unknown): number | undefined =>
  typeof value === 'number' ? value : typeof value === 'string' || Array.isArray(value) ? value.length : undefined

const originOf = (value: unknown) =>
  typeof value === 'number' ? 'number' : typeof value === 'string' ? 'string' : 'array'

/** The type of the values of a schema. */
export type Output<S extends Schema> = S['output']
