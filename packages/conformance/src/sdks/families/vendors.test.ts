import { runFamily } from './family-suite.ts'
import { vendorFamilies } from './vendors.ts'

for (const family of vendorFamilies) runFamily(family)
