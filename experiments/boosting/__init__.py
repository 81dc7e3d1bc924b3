"""Does boosting with biased labels keep what it promises?"""
