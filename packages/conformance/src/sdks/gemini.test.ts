import { afterAll } from 'vitest'
import { googleCases } from './gemini.ts'
import { runSuite } from './suite.ts'

const reported = runSuite('the google SDK', 'gemini', googleCases)
afterAll(() => console.log(reported()))
