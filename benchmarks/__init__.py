"""Speed and memory of SAR-EM, against a naive implementation and a peer, and against the machine.

``python -m benchmarks.run --help`` says what can be run alone. Nothing here is installed with the
package.
"""
