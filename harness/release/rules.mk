# What goes along with a release.

.PHONY: sbom
sbom: ## the bill of materials, SPDX 2.3: build/fcvi.spdx.json
	@mkdir -p $(BUILD)
	@$(PYTHON) -m harness.release.sbom --version $(VERSION) --out $(BUILD)/fcvi.spdx.json
