// Isolated: OpenRouter's SDK cannot read errors after the programs of console-code.test.ts have loaded zod in the same process.
import { runFamily } from './family-suite.ts'
import { vendorFamilies } from './vendors.ts'

for (const family of vendorFamilies) runFamily(family)
